/**
 * Whether MongoDB is known to be away: then nobody waits for their deadline to be told so. A read that failed, or the driver's
 * own watching, raises the suspicion; a ping that is given as long as any read confirms it, and the first one that is answered
 * ends it.
 */
import type { MongoClient, ServerDescriptionChangedEvent } from 'mongodb';
import { isUnavailable, StoreDataError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { pause } from '#shared/pause.ts';
import type { Bounded } from './deadline.ts';

/** How often it is asked whether it is back. */
const PROBE_MS = 100;

/** What shows it. */
interface Away {
  set: (value: number) => void;
}

export class MongodbCircuit {
  readonly #ping: () => Promise<unknown>;
  readonly #away: Away;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  #isOpen = false;
  #probing: Promise<void> | null = null;

  /** @param bounded gives a read its whole time. @param away is 1 while MongoDB is known to be away. */
  constructor(client: MongoClient, bounded: Bounded, away: Away, logger: Logger) {
    const { readPreference } = client;
    this.#ping = () =>
      bounded((signal) => client.db('admin').command({ ping: 1 }, { readPreference, signal }));
    this.#away = away;
    this.#logger = logger;
    this.#set(false);
    client.on('serverDescriptionChanged', this.#serverChanged);
  }

  /** Bounds reads as before, and refuses them at once while MongoDB is known to be away. */
  guard(bounded: Bounded): Bounded {
    return async (read) => {
      if (this.#isOpen) throw new StoreDataError('environment_unavailable', 'MongoDB is away');
      try {
        return await bounded(read);
      } catch (error) {
        if (isUnavailable(error)) this.#suspect();
        throw error;
      }
    };
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#probing;
  }

  /** Also where it was a command that failed, and the driver has not looked at the server yet. */
  readonly #serverChanged = ({ newDescription }: ServerDescriptionChangedEvent) => {
    if (newDescription.type === 'Unknown') this.#suspect();
  };

  readonly #suspect = () => {
    if (this.#stopped.signal.aborted) return;
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = null;
    });
  };

  async #probe(): Promise<void> {
    const { signal } = this.#stopped;
    // What answers, in whatever words, is there.
    while (!signal.aborted && (await this.#ping().then(() => false, isUnavailable))) {
      if (!this.#isOpen) this.#logger.warn('MongoDB is away: who needs it is refused at once');
      this.#set(true);
      await pause(PROBE_MS, signal);
    }
    if (this.#isOpen && !signal.aborted) this.#logger.info('MongoDB answers again');
    this.#set(false);
  }

  #set(isOpen: boolean): void {
    this.#isOpen = isOpen;
    this.#away.set(isOpen ? 1 : 0);
  }
}
