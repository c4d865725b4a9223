/**
 * Supervises one environment: applies its access, polls its pointer, starts new generations of this
 * release and stops dropped ones. A flip only changes the state of a generation. A configuration
 * error after the start stops that environment alone.
 */
import type { Db } from 'mongodb';
import { allEnded } from '#shared/waiting.ts';
import type { Config } from '#shared/config.ts';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import { type PeriodicTask, startPeriodicTask } from '#shared/periodic-task.ts';
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
const ACTIONS_BY_STATE = new Map<unknown, string>([
  ['building', 'fills a new generation beside it, which "store-data rebuild" makes live'],
  ['kept', 'projects its own, from which its query services answer'],
]);

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

export function createSupervisor(options: SupervisorOptions, environment: string) {
  const { databases, projectionVersion, metrics } = options;
  const logger = options.logger.child({ environment });
  let access: Applying | null = null;
  /** By marker's id. */
  const running = new Map<string, { generation: ActiveGeneration; applying: Applying }>();
  let unprojectedReason: string | null = null;
  let isPrepared = false;
  /** What was logged last, so that it is logged once. */
  let logged = '';
  let rest: { ms: number; until: number } | null = null;
  let polling: PeriodicTask | null = null;
  let isStopped = false;

  /**
   * The next poll retries while a server is away.
   * @param throwsConfigurationErrors whether other errors are thrown.
   */
  async function poll(throwsConfigurationErrors: boolean): Promise<void> {
    const rests = performance.now() < (rest?.until ?? 0);
    try {
      await follow(rests);
      if (!rests) noteRepaired();
    } catch (error) {
      if (isUnavailable(error)) logOnce(describeError(error));
      else if (throwsConfigurationErrors) throw error;
      else if (!rests) noteConfigurationError(error);
    }
  }

  /** @param rests whether nothing is started. Flips and drops are followed nevertheless. */
  async function follow(rests: boolean): Promise<void> {
    if (!isPrepared) {
      if (rests) return;
      await options.prepare(environment);
      isPrepared = true;
    }
    const known = await findGenerations(databases, environment);
    const wanted = new Map<string, ActiveGeneration>();
    for (const { db, marker, state, share } of known) {
      if (marker?.projection_version !== projectionVersion || state === 'dropping') continue;
      wanted.set(marker.id, { environment, db, marker, state, share });
    }
    const gone = [...running.keys()].filter((id) => !wanted.has(id)).map(end);
    const followed = [...wanted].map(async ([id, generation]) => {
      const own = running.get(id)?.generation;
      if (own !== undefined) {
        show(own, false);
        show(Object.assign(own, { state: generation.state, share: generation.share }), true);
      } else if (!rests) {
        await Promise.allSettled(gone);
        await begin(generation);
      }
    });
    await allEnded([...gone, ...followed]);
    noteOtherRelease(known);
  }

  async function begin(generation: ActiveGeneration): Promise<void> {
    if (isStopped) return;
    const { db, marker, state } = generation;
    await createReadModels(db);
    const applying = await options.project(generation);
    running.set(marker.id, { generation, applying });
    show(generation, true);
    logger.info({ generation: marker.number, state }, 'projects a generation');
  }

  async function end(id: string): Promise<void> {
    const ending = running.get(id);
    if (ending === undefined) return;
    running.delete(id);
    const { generation, applying } = ending;
    show(generation, false);
    await applying.stop();
    if (isStopped) return;
    const facts = { generation: generation.marker.number };
    logger.info(facts, 'no longer projects a generation: it is dropped');
  }

  function show({ marker, state }: ActiveGeneration, isProjected: boolean): void {
    const labels = { ...generationLabels(marker), state };
    if (isProjected) metrics.generations.set(labels, 1);
    else metrics.generations.remove(labels);
  }

  function noteConfigurationError(error: unknown): void {
    const pauseMs = Math.min((rest?.ms ?? REST_MS.first / 2) * 2, REST_MS.max);
    rest = { ms: pauseMs, until: performance.now() + pauseMs };
    metrics.environmentStopped.set({ environment }, 1);
    const facts = { error: describeError(error), pauseMs };
    logger.fatal(facts, 'environment stopped: configuration error, which is tried again');
  }

  function noteRepaired(): void {
    if (rest === null || performance.now() < rest.until + REPAIRED_MS) return;
    rest = null;
    metrics.environmentStopped.remove({ environment });
    logger.info({}, 'environment continues');
  }

  /**
   * Logs what this release does while the live generation is another release's, and notes why it is
   * not ready.
   */
  function noteOtherRelease(known: readonly KnownGeneration[]): void {
    unprojectedReason = null;
    let words = '';
    try {
      const version = liveOf(environment, known)?.marker.projection_version;
      if (version !== undefined && version !== projectionVersion) {
        const own = known.findLast(
          ({ marker }) => marker?.projection_version === projectionVersion,
        );
        const does =
          ACTIONS_BY_STATE.get(own?.state) ??
          `leaves it alone: make a generation of its own with "store-data rebuild --environment ${environment}"`;
        words =
          `the live generation of ${environment} has projection version ${version} and belongs to another release; ` +
          `this one has ${projectionVersion} and ${does}`;
        if (
          !options.config.projector.sideBySide &&
          answeringGeneration(environment, known, projectionVersion) === null
        ) {
          words += '. Not ready until then: keep the projectors of the other release running';
          unprojectedReason = words;
        }
      }
    } catch (error) {
      if (!(error instanceof StoreDataError)) throw error;
      words = error.message;
    }
    logOnce(words);
  }

  function logOnce(words: string): void {
    if (logged === words) return;
    logged = words;
    if (words !== '') logger.warn({}, words);
  }

  return {
    /**
     * Why this release projects nothing that answers requests; `null` if it does, or if another
     * installation may.
     */
    get unprojectedReason(): string | null {
      return unprojectedReason;
    },

    /** @throws what prevents a generation from being projected. */
    async start(): Promise<void> {
      access = await options.applyAccess(environment);
      await poll(true);
      polling = startPeriodicTask({ run: () => poll(false), everyMs: POLL_MS }, POLL_MS);
    },

    isLive: () =>
      (access?.isLive() ?? true) && running.values().every(({ applying }) => applying.isLive()),

    async stop(): Promise<void> {
      isStopped = true;
      const endAll = () => allEnded([...running.keys()].map(end));
      // Consumers stop without waiting for a poll whose servers are away.
      const polled = async () => polling?.stop();
      await allEnded<unknown>([endAll(), polled().then(endAll), Promise.resolve(access?.stop())]);
    },
  };
}
