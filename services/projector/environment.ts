/**
 * Projects the generations of this release: a loop for each environment polls its pointer, begins what is new and ends what is dropped.
 * A flip changes nothing but what a generation counts as. A mistake of one environment stops that one alone.
 */
import type { Db } from 'mongodb';
import { allEnded, withTimeLimit } from '#shared/waiting.ts';
import type { Config } from '#shared/config.ts';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { checkReadModels, createReadModels } from '#shared/read-models/collections.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import {
  answeringGeneration,
  findGenerations,
  generationLabels,
  type GenerationMarker,
  type KnownGeneration,
  liveOf,
} from '#shared/read-models/generation.ts';
import type { RunningConsumer } from './log/consumer.ts';
import type { ProjectorMetrics } from './metrics.ts';

const POLL_MS = 500;
/** A start waits so long for an environment with servers of its own: longer than it takes where they answer. */
const FIRST_POLL_MS = 2_000;
/** After a mistake nothing is begun for a while, which grows. */
const REST_MS = { first: 1_000, max: 60_000 };
/** Some mistakes show only once a consumer runs: after so long without one the environment counts as mended. */
const MENDED_MS = 10_000;

/** What a release does with its own generation beside the live one of another release, by the state of its own. */
const DOES_BESIDE = {
  building: 'fills a new generation beside it, which "store-data rebuild" makes live',
  kept: 'projects its own, from which its query services answer',
};

/** A generation that is projected here; what it counts as changes with the pointer. */
export interface ActiveGeneration {
  readonly environment: string;
  readonly db: Db;
  readonly marker: GenerationMarker;
  state: KnownGeneration['state'];
  share: number | null;
}

export interface SupervisorOptions {
  databases: Databases;
  /** The servers that environments have of their own. */
  own: Config['own'];
  /** Done once for an environment, before anything of it is projected. */
  prepare: (environment: string) => Promise<void>;
  /** Only generations made with it are touched. */
  projectionVersion: number;
  /** Whether another release may be the one that projects what answers. */
  sideBySide: boolean;
  logger: Logger;
  metrics: ProjectorMetrics;
  project: (generation: ActiveGeneration) => Promise<RunningConsumer>;
}

interface Running {
  generation: ActiveGeneration;
  consumer: RunningConsumer;
  /** Whether it is to be begun anew. */
  hasFailed: boolean;
}

/** The loop of one environment. */
class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #environment: string;
  /** By marker's id. */
  readonly #running = new Map<string, Running>();
  readonly #failure = Promise.withResolvers<never>();
  /** Why this release projects nothing that answers. */
  unprojectedReason: string | null = null;
  #isPrepared = false;
  /** What was logged last, so that it is logged once. */
  #logged = '';
  /** Since the last mistake; `null` without one. */
  #rest: { ms: number; until: number } | null = null;
  #firstPoll: Promise<unknown> = Promise.resolve();
  #polling: PeriodicTask | null = null;
  #isStopped = false;

  constructor(options: SupervisorOptions, environment: string) {
    this.#options = options;
    this.#environment = environment;
    this.#failure.promise.catch(() => undefined);
  }

  /** @throws what keeps a generation from being projected; of an environment with servers of its own that is logged and tried again. */
  async start(): Promise<void> {
    const { logger, own } = this.#options;
    if (Object.keys(own.get(this.#environment) ?? {}).length === 0) await this.#follow(false);
    else {
      this.#firstPoll = this.#tryToFollow();
      const late = () => new Error('its servers do not answer yet');
      await withTimeLimit(FIRST_POLL_MS, late, () => this.#firstPoll).catch(() => undefined);
    }
    this.#polling = new PeriodicTask(
      {
        run: async () => {
          await this.#firstPoll;
          await this.#tryToFollow();
        },
        everyMs: POLL_MS,
        failed: (error) => logger.error({ error }, 'generations cannot be followed'),
      },
      POLL_MS,
    );
  }

  /** Rejects when a generation on the Kafka of the installation can no longer be projected and the process should end. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  isLive(): boolean {
    return this.#running.values().every(({ consumer, hasFailed }) => hasFailed || consumer.isLive());
  }

  get active(): ActiveGeneration[] {
    return [...this.#running.values()].map(({ generation }) => generation);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const endAll = () => allEnded([...this.#running.keys()].map((id) => this.#end(id)));
    // What runs does not wait for a poll whose servers are away.
    const polled = Promise.allSettled([this.#firstPoll, this.#polling?.stop()]);
    await allEnded([endAll(), polled.then(endAll)]);
  }

  async #tryToFollow(): Promise<void> {
    const rests = performance.now() < (this.#rest?.until ?? 0);
    try {
      await this.#follow(rests);
      if (!rests) this.#noteMended();
    } catch (error) {
      if (isUnavailable(error)) this.#logOnce('warn', describeError(error));
      else if (!rests) this.#noteMistake(error);
    }
  }

  /** @param rests whether nothing is begun: flips, and what is dropped, are followed all the same. */
  async #follow(rests: boolean): Promise<void> {
    const { databases, projectionVersion, prepare } = this.#options;
    if (!this.#isPrepared) {
      if (rests) return;
      await prepare(this.#environment);
      this.#isPrepared = true;
    }
    const known = await findGenerations(databases, this.#environment);
    const wanted = new Map<string, { marker: GenerationMarker; found: KnownGeneration }>();
    for (const found of known) {
      const { marker, state } = found;
      if (marker?.projection_version !== projectionVersion || state === 'dropping') continue;
      wanted.set(marker.id, { marker, found });
    }
    const gone = [...this.#running]
      .filter(([id, { hasFailed }]) => (hasFailed && !rests) || !wanted.has(id))
      .map(([id]) => this.#end(id));
    const going = [...wanted].map(async ([id, { marker, found }]) => {
      const running = this.#running.get(id);
      if (running === undefined) {
        if (rests) return;
        await Promise.allSettled(gone);
        return this.#begin(marker, found);
      }
      this.#count(running.generation, 0);
      Object.assign(running.generation, { state: found.state, share: found.share });
      this.#count(running.generation, 1);
    });
    await allEnded([...gone, ...going]);
    this.#noteOtherRelease(known);
  }

  async #begin(marker: GenerationMarker, { db, state, share }: KnownGeneration): Promise<void> {
    if (this.#isStopped) return;
    const { logger, project, own } = this.#options;
    const environment = this.#environment;
    const generation: ActiveGeneration = { environment, db, marker, state, share };
    await createReadModels(db);
    await checkReadModels(db);
    const consumer = await project(generation);
    const running = { generation, consumer, hasFailed: false };
    this.#running.set(marker.id, running);
    this.#count(generation, 1);
    consumer.failed.catch((error: unknown) => {
      if (this.#running.get(marker.id) !== running) return;
      if (own.get(environment)?.kafka === undefined) return this.#failure.reject(error);
      running.hasFailed = true;
      this.#noteMistake(error);
    });
    logger.info({ environment, generation: marker.number, state }, 'projects a generation');
  }

  async #end(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    const { generation, consumer, hasFailed } = running;
    this.#count(generation, 0);
    await consumer.stop();
    if (this.#isStopped || hasFailed) return;
    this.#options.logger.info(
      { environment: this.#environment, generation: generation.marker.number },
      'no longer projects a generation: it is dropped',
    );
  }

  #noteMistake(error: unknown): void {
    const { logger, metrics } = this.#options;
    const environment = this.#environment;
    const ms = Math.min((this.#rest?.ms ?? REST_MS.first / 2) * 2, REST_MS.max);
    this.#rest = { ms, until: performance.now() + ms };
    metrics.environmentStopped.set({ environment }, 1);
    logger.fatal(
      { environment, error: describeError(error), pauseMs: ms },
      'environment stopped: configuration error, which is tried again',
    );
  }

  #noteMended(): void {
    const environment = this.#environment;
    if (this.#rest === null || performance.now() < this.#rest.until + MENDED_MS) return;
    this.#rest = null;
    this.#options.metrics.environmentStopped.remove({ environment });
    this.#options.logger.info({ environment }, 'environment continues');
  }

  /** Logs what this release does where the live generation is another one's, and whether what answers is left to that one. */
  #noteOtherRelease(known: readonly KnownGeneration[]): void {
    const { projectionVersion, sideBySide } = this.#options;
    const environment = this.#environment;
    this.unprojectedReason = null;
    let words = '';
    try {
      const version = liveOf(environment, known)?.marker.projection_version;
      if (version !== undefined && version !== projectionVersion) {
        const own = known.findLast(({ marker }) => marker?.projection_version === projectionVersion)?.state;
        const does =
          own === 'building' || own === 'kept'
            ? DOES_BESIDE[own]
            : `leaves it alone: make a generation of its own with "store-data rebuild --environment ${environment}"`;
        words = `the live generation of ${environment} has projection version ${version} and belongs to another release; this one has ${projectionVersion} and ${does}`;
        if (!sideBySide && answeringGeneration(environment, known, projectionVersion) === null) {
          words += '. Not ready until then: keep the projectors of the other release running';
          this.unprojectedReason = words;
        }
      }
    } catch (error) {
      if (!(error instanceof StoreDataError)) throw error;
      words = error.message;
    }
    this.#logOnce('warn', words);
  }

  #logOnce(level: 'warn' | 'error', words: string): void {
    if (this.#logged === words) return;
    this.#logged = words;
    if (words !== '') this.#options.logger[level]({ environment: this.#environment }, words);
  }

  #count({ marker, state }: ActiveGeneration, value: 0 | 1): void {
    const labels = { ...generationLabels(marker), state };
    if (value === 1) this.#options.metrics.generations.set(labels, 1);
    else this.#options.metrics.generations.remove(labels);
  }
}

/** The loops of all environments. */
export interface Supervision {
  /** Rejects when the process should end. */
  failed: Promise<never>;
  isLive: () => boolean;
  /** Why other projectors are still needed, since what answers belongs to another release; `null` where they are not. */
  unprojectedReason: () => string | null;
  /** The generations of this release, as they are projected now. */
  active: () => ActiveGeneration[];
  stop: () => Promise<void>;
}

/** Begins to supervise environments. @throws what keeps a generation of this release from being projected at the first poll. */
export async function superviseEnvironments(
  options: SupervisorOptions,
  environments: readonly string[],
): Promise<Supervision> {
  const all = environments.map((environment) => new Supervisor(options, environment));
  const stop = async () => {
    await allEnded(all.map((one) => one.stop()));
  };
  try {
    for (const one of all) await one.start();
  } catch (error) {
    await stop();
    throw error;
  }
  const failed = Promise.race(all.map((one) => one.failed));
  failed.catch(() => undefined);
  return {
    failed,
    isLive: () => all.every((one) => one.isLive()),
    unprojectedReason: () =>
      all.map((one) => one.unprojectedReason).find((reason) => reason !== null) ?? null,
    active: () => all.flatMap((one) => one.active),
    stop,
  };
}
