/**
 * Follows the generations of this release: looks at the pointers again and again, projects what is there beside each
 * other, and stops with what is dropped. A flip changes nothing but what a generation counts as.
 */
import type { Db } from 'mongodb';
import { allEnded } from '#shared/all-ended.ts';
import type { Config } from '#shared/config.ts';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { checkReadModels, createReadModels } from '#shared/read-models/collections.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import {
  findGenerations,
  type GenerationMarker,
  type KnownGeneration,
  liveOf,
  PointerWatch,
} from '#shared/read-models/generation.ts';
import type { RunningConsumer } from '../consumer/consumer.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import { SideBySide } from '../side-by-side.ts';
import { StoppedEnvironments } from './stopped-environments.ts';

const LOOK_MS = 500;

/** A generation that is projected here; what it counts as changes with the pointer. */
export interface Followed {
  readonly environment: string;
  readonly db: Db;
  readonly marker: GenerationMarker;
  state: KnownGeneration['state'];
  share: number | null;
}

export interface FollowerOptions {
  databases: Databases;
  environments: readonly string[];
  /** The servers that environments have of their own. */
  own: Config['own'];
  /** Done once for an environment, before anything of it is projected. */
  prepare: (environment: string) => Promise<void>;
  /** Only generations made with it are touched. */
  projectionVersion: number;
  logger: Logger;
  metrics: ProjectorMetrics;
  project: (generation: Followed) => Promise<RunningConsumer>;
}

interface Running {
  generation: Followed;
  consumer: RunningConsumer;
  /** Whether it is to be begun anew. */
  hasFailed: boolean;
}

export class GenerationFollower {
  readonly #options: FollowerOptions;
  /** By marker's id. */
  readonly #running = new Map<string, Running>();
  readonly #failure = Promise.withResolvers<never>();
  /** What was said last of an environment, so that it is said once. */
  readonly #said = new Map<string, string>();
  readonly #pointers: PointerWatch;
  readonly #prepared = new Set<string>();
  readonly #stoppedOnes: StoppedEnvironments;
  readonly #environments = new SideBySide();
  #looking: PeriodicTask | null = null;
  #stopped = false;

  private constructor(options: FollowerOptions) {
    this.#options = options;
    this.#stoppedOnes = new StoppedEnvironments(options.logger, options.metrics);
    this.#pointers = new PointerWatch(options.databases, options.environments);
    this.#failure.promise.catch(() => undefined);
  }

  /**
   * Begins to follow.
   * @throws what keeps a generation of this release from being projected at the first look; later it is logged and tried again. So
   * is from the beginning what fails of an environment with servers of its own.
   */
  static async start(options: FollowerOptions): Promise<GenerationFollower> {
    const follower = new GenerationFollower(options);
    try {
      for (const environment of options.environments) await follower.#lookFirst(environment);
    } catch (error) {
      await follower.stop();
      throw error;
    }
    follower.#looking = new PeriodicTask(
      {
        run: () => follower.#lookAtAll(),
        everyMs: LOOK_MS,
        failed: (error) => options.logger.error({ error }, 'generations cannot be followed'),
      },
      LOOK_MS,
    );
    return follower;
  }

  /** Rejects when a generation on the Kafka of the installation can no longer be projected and the process should end. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  isLive(): boolean {
    return [...this.#running.values()].every(({ consumer, hasFailed }) => hasFailed || consumer.isLive());
  }

  /** The generations of this release, as they are projected now. */
  get followed(): Followed[] {
    return [...this.#running.values()].map(({ generation }) => generation);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking?.stop();
    const endAll = () => allEnded([...this.#running.keys()].map((id) => this.#end(id)));
    // Those that run do not wait for an environment whose own servers are away.
    await allEnded([endAll(), this.#environments.ended().then(endAll)]);
  }

  async #lookAtAll(): Promise<void> {
    await this.#pointers
      .each((environment, find) => this.#lookApart(environment, find))
      .catch((error: unknown) => {
        for (const environment of this.#options.environments) {
          this.#say(environment, 'error', describeError(error));
        }
      });
  }

  async #lookFirst(environment: string): Promise<void> {
    const find = () => findGenerations(this.#options.databases, environment);
    await (this.#isApart(environment) ? this.#lookApart(environment, find) : this.#look(environment, find));
  }

  #isApart(environment: string): boolean {
    return Object.keys(this.#options.own.get(environment) ?? {}).length > 0;
  }

  /** A look whose failure, or whose waiting, is no other environment's. */
  #lookApart(
    environment: string,
    find: () => Promise<KnownGeneration[]>,
  ): Promise<readonly KnownGeneration[]> {
    const look = async () => {
      const rests = this.#stoppedOnes.rests(environment);
      try {
        const known = await this.#look(environment, find, rests);
        if (!rests) this.#stoppedOnes.goesOn(environment);
        return known;
      } catch (error) {
        if (isUnavailable(error)) this.#say(environment, 'warn', describeError(error));
        else if (!rests) this.#stoppedOnes.failed(environment, error);
        return [];
      }
    };
    return this.#environments.run(environment, look, []);
  }

  /** @param rests whether nothing is begun: flips, and what is dropped, are followed all the same. */
  async #look(
    environment: string,
    find: () => Promise<KnownGeneration[]>,
    rests = false,
  ): Promise<readonly KnownGeneration[]> {
    const { projectionVersion, prepare } = this.#options;
    if (!this.#prepared.has(environment)) {
      if (rests) return [];
      await prepare(environment);
      this.#prepared.add(environment);
    }
    const known = await find();
    const wanted = new Map<string, { marker: GenerationMarker; found: KnownGeneration }>();
    for (const found of known) {
      const { marker, state } = found;
      if (marker?.projection_version !== projectionVersion || state === 'dropping') continue;
      wanted.set(marker.id, { marker, found });
    }
    const gone = [...this.#running]
      .filter(([, { generation }]) => generation.environment === environment)
      .filter(([id, { hasFailed }]) => (hasFailed && !rests) || !wanted.has(id))
      .map(([id]) => this.#end(id));
    const going = [...wanted].map(async ([id, { marker, found }]) => {
      const running = this.#running.get(id);
      if (running === undefined) {
        if (rests) return;
        await Promise.allSettled(gone);
        return this.#begin(environment, marker, found);
      }
      this.#count(running.generation, 0);
      Object.assign(running.generation, { state: found.state, share: found.share });
      this.#count(running.generation, 1);
    });
    await allEnded([...gone, ...going]);
    this.#tellOfOthers(environment, known);
    return known;
  }

  async #begin(
    environment: string,
    marker: GenerationMarker,
    { db, state, share }: KnownGeneration,
  ): Promise<void> {
    if (this.#stopped) return;
    const { logger, project, own } = this.#options;
    const generation: Followed = { environment, db, marker, state, share };
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
      this.#stoppedOnes.failed(environment, error);
    });
    logger.info({ environment, generation: marker.number, state }, 'projects a generation');
  }

  async #end(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    const { generation, consumer, hasFailed } = running;
    const { environment, marker } = generation;
    this.#count(generation, 0);
    await consumer.stop();
    if (this.#stopped || hasFailed) return;
    this.#options.logger.info(
      { environment, generation: marker.number },
      'no longer projects a generation: it is dropped',
    );
  }

  #tellOfOthers(environment: string, known: readonly KnownGeneration[]): void {
    const { projectionVersion } = this.#options;
    let words = '';
    try {
      const version = liveOf(environment, known)?.marker.projection_version;
      if (version !== undefined && version !== projectionVersion) {
        const isBuilt = known.some(
          ({ state, marker }) => state === 'building' && marker?.projection_version === projectionVersion,
        );
        words = `the live generation of ${environment} has projection version ${version} and belongs to another release; this one has ${projectionVersion} and ${
          isBuilt
            ? 'fills a new generation beside it'
            : `leaves it alone: make a generation of its own with "store-data rebuild --environment ${environment}"`
        }`;
      }
    } catch (error) {
      if (!(error instanceof StoreDataError)) throw error;
      words = error.message;
    }
    this.#say(environment, 'warn', words);
  }

  #say(environment: string, level: 'warn' | 'error', words: string): void {
    if (this.#said.get(environment) === words) return;
    this.#said.set(environment, words);
    if (words !== '') this.#options.logger[level]({ environment }, words);
  }

  #count({ environment, marker, state }: Followed, value: 0 | 1): void {
    const labels = { environment, generation: generationLabel(marker), state };
    if (value === 1) this.#options.metrics.generations.set(labels, 1);
    else this.#options.metrics.generations.remove(labels);
  }
}

/** A generation as metrics name it. */
export function generationLabel({ number }: GenerationMarker): string {
  return `g${number}`;
}
