/**
 * Supervises one environment: applies its access, polls its pointer, starts new generations of this
 * release and stops dropped ones. A flip only changes the state of a generation. A configuration
 * error after the start stops that environment alone.
 */
import type { Db } from 'mongodb';
import { allEnded } from '#shared/waiting.ts';
import type { Config } from '#shared/config.ts';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { createReadModels } from '#shared/read-models/collections.ts';
import {
  answeringGeneration,
  findGenerations,
  generationLabels,
  type GenerationMarker,
  type KnownGeneration,
  liveOf,
} from '#shared/read-models/generation.ts';
import type { RunningConsumer } from './log/consumer.ts';
import type { Parts } from './parts.ts';

const POLL_MS = 500;
/** The pause after a configuration error, which grows with each. */
const REST_MS = { first: 1_000, max: 60_000 };
/**
 * Some errors show only once a consumer runs. After this time without one, the environment counts
 * as repaired.
 */
const REPAIRED_MS = 10_000;

/**
 * What a release does while the live generation is another release's, by the state of its own
 * generation.
 */
const ACTIONS_BY_STATE = {
  building: 'fills a new generation beside it, which "store-data rebuild" makes live',
  kept: 'projects its own, from which its query services answer',
};

/** A generation that is projected here. Its state follows the pointer. */
export interface ActiveGeneration {
  readonly environment: string;
  readonly db: Db;
  readonly marker: GenerationMarker;
  state: KnownGeneration['state'];
  share: number | null;
}

export type Applying = Pick<RunningConsumer, 'isLive' | 'stop'>;

export interface SupervisorOptions extends Pick<
  Parts,
  'databases' | 'projectionVersion' | 'logger' | 'metrics'
> {
  config: Pick<Config, 'projector'>;
  /**
   * Starts to apply an environment's access. A first generation waits until that log is applied.
   */
  applyAccess: (environment: string) => Promise<Applying>;
  /** Done once for an environment, before anything of it is projected. */
  prepare: (environment: string) => Promise<void>;
  project: (generation: ActiveGeneration) => Promise<Applying>;
}

interface Running {
  generation: ActiveGeneration;
  applying: Applying;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #environment: string;
  readonly #logger: Logger;
  #access: Applying | null = null;
  /** By marker's id. */
  readonly #running = new Map<string, Running>();
  /**
   * Why this release projects nothing that answers requests; `null` if it does, or if another
   * installation may.
   */
  unprojectedReason: string | null = null;
  #isPrepared = false;
  /** What was logged last, so that it is logged once. */
  #logged = '';
  #rest: { ms: number; until: number } | null = null;
  #polling: PeriodicTask | null = null;
  #isStopped = false;

  constructor(options: SupervisorOptions, environment: string) {
    this.#options = options;
    this.#environment = environment;
    this.#logger = options.logger.child({ environment });
  }

  /** @throws what prevents a generation from being projected. */
  async start(): Promise<void> {
    this.#access = await this.#options.applyAccess(this.#environment);
    await this.#poll(true);
    const run = () => this.#poll();
    const failed = (error: string) => this.#logger.error({ error }, 'generations cannot be polled');
    this.#polling = new PeriodicTask({ run, everyMs: POLL_MS, failed }, POLL_MS);
  }

  isLive(): boolean {
    return (
      (this.#access?.isLive() ?? true) &&
      this.#running.values().every(({ applying }) => applying.isLive())
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const endAll = () => allEnded([...this.#running.keys()].map((id) => this.#end(id)));
    // Consumers stop without waiting for a poll whose servers are away.
    const polled = async () => this.#polling?.stop();
    await allEnded<unknown>([
      endAll(),
      polled().then(endAll),
      Promise.resolve(this.#access?.stop()),
    ]);
  }

  /**
   * The next poll retries while a server is away.
   * @param throwsConfigurationErrors whether other errors are thrown.
   */
  async #poll(throwsConfigurationErrors = false): Promise<void> {
    const rests = performance.now() < (this.#rest?.until ?? 0);
    try {
      await this.#follow(rests);
      if (!rests) this.#noteRepaired();
    } catch (error) {
      if (isUnavailable(error)) this.#logOnce(describeError(error));
      else if (throwsConfigurationErrors) throw error;
      else if (!rests) this.#noteConfigurationError(error);
    }
  }

  /** @param rests whether nothing is started. Flips and drops are followed nevertheless. */
  async #follow(rests: boolean): Promise<void> {
    const { databases, projectionVersion, prepare } = this.#options;
    const environment = this.#environment;
    if (!this.#isPrepared) {
      if (rests) return;
      await prepare(environment);
      this.#isPrepared = true;
    }
    const known = await findGenerations(databases, environment);
    const wanted = new Map<string, ActiveGeneration>();
    for (const { db, marker, state, share } of known) {
      if (marker?.projection_version !== projectionVersion || state === 'dropping') continue;
      wanted.set(marker.id, { environment, db, marker, state, share });
    }
    const gone = [...this.#running.keys()]
      .filter((id) => !wanted.has(id))
      .map((id) => this.#end(id));
    const followed = [...wanted].map(async ([id, generation]) => {
      const running = this.#running.get(id);
      if (running !== undefined) return this.#move(running.generation, generation);
      if (rests) return;
      await Promise.allSettled(gone);
      await this.#begin(generation);
    });
    await allEnded([...gone, ...followed]);
    this.#noteOtherRelease(known);
  }

  async #begin(generation: ActiveGeneration): Promise<void> {
    if (this.#isStopped) return;
    const { db, marker, state } = generation;
    await createReadModels(db);
    const applying = await this.#options.project(generation);
    this.#running.set(marker.id, { generation, applying });
    this.#count(generation, 1);
    this.#logger.info({ generation: marker.number, state }, 'projects a generation');
  }

  #move(generation: ActiveGeneration, { state, share }: ActiveGeneration): void {
    this.#count(generation, 0);
    Object.assign(generation, { state, share });
    this.#count(generation, 1);
  }

  async #end(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    const { generation, applying } = running;
    this.#count(generation, 0);
    await applying.stop();
    if (this.#isStopped) return;
    this.#logger.info(
      { generation: generation.marker.number },
      'no longer projects a generation: it is dropped',
    );
  }

  #noteConfigurationError(error: unknown): void {
    const pauseMs = Math.min((this.#rest?.ms ?? REST_MS.first / 2) * 2, REST_MS.max);
    this.#rest = { ms: pauseMs, until: performance.now() + pauseMs };
    this.#options.metrics.environmentStopped.set({ environment: this.#environment }, 1);
    const facts = { error: describeError(error), pauseMs };
    this.#logger.fatal(facts, 'environment stopped: configuration error, which is tried again');
  }

  #noteRepaired(): void {
    if (this.#rest === null || performance.now() < this.#rest.until + REPAIRED_MS) return;
    this.#rest = null;
    this.#options.metrics.environmentStopped.remove({ environment: this.#environment });
    this.#logger.info({}, 'environment continues');
  }

  /**
   * Logs what this release does while the live generation is another release's, and notes why it is
   * not ready.
   */
  #noteOtherRelease(known: readonly KnownGeneration[]): void {
    const { projectionVersion, config } = this.#options;
    const environment = this.#environment;
    this.unprojectedReason = null;
    let words = '';
    try {
      const version = liveOf(environment, known)?.marker.projection_version;
      if (version !== undefined && version !== projectionVersion) {
        const own = known.findLast(
          ({ marker }) => marker?.projection_version === projectionVersion,
        )?.state;
        const does =
          own === 'building' || own === 'kept'
            ? ACTIONS_BY_STATE[own]
            : `leaves it alone: make a generation of its own with "store-data rebuild --environment ${environment}"`;
        words =
          `the live generation of ${environment} has projection version ${version} and belongs to another release; ` +
          `this one has ${projectionVersion} and ${does}`;
        if (
          !config.projector.sideBySide &&
          answeringGeneration(environment, known, projectionVersion) === null
        ) {
          words += '. Not ready until then: keep the projectors of the other release running';
          this.unprojectedReason = words;
        }
      }
    } catch (error) {
      if (!(error instanceof StoreDataError)) throw error;
      words = error.message;
    }
    this.#logOnce(words);
  }

  #logOnce(words: string): void {
    if (this.#logged === words) return;
    this.#logged = words;
    if (words !== '') this.#logger.warn({}, words);
  }

  #count({ marker, state }: ActiveGeneration, value: 0 | 1): void {
    const labels = { ...generationLabels(marker), state };
    if (value === 1) this.#options.metrics.generations.set(labels, 1);
    else this.#options.metrics.generations.remove(labels);
  }
}
