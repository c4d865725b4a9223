/** What the projector has done so far, from its metrics; counts go on when it is started again and counts from zero. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Histogram, histogramOf, type Sample, scrape, sum } from './samples.ts';

export interface ProjectorState {
  /** Events that took effect. */
  applied: number;
  /** Events of the changes topics that are done with, whatever came of them. */
  changesHandled: number;
  /** Keys that took effect. */
  keysApplied: number;
  deadLetters: number;
  /** Messages that are not applied yet; `null` while the projector has no partitions. */
  changesLag: number | null;
  accessLag: number | null;
  /** Changes of access that Redis does not know yet. */
  accessPending: number;
  /** Seconds from events to their commits, as far as this process has counted them. */
  freshness: Histogram;
}

const APPLIED = 'store_data_events_applied_total';
const OUTDATED = 'store_data_events_outdated_total';
const DEAD = 'store_data_dead_letters_total';
const COUNTERS = new Set([APPLIED, OUTDATED, DEAD]);
const ACCESS_ENTITIES = new Set(['access_key', 'store_access']);

export class ProjectorWatch {
  readonly #url: string;
  /** By counter and labels: what earlier processes counted, and what this one says. */
  readonly #counters = new Map<string, { sample: Sample; before: number }>();

  constructor(operationsUrl: string) {
    this.#url = operationsUrl;
  }

  /** Asks the projector; `null` when it does not answer. */
  async look(): Promise<ProjectorState | null> {
    const samples = await scrape(this.#url);
    return samples === null ? null : this.take(samples);
  }

  /** Takes in one scrape. */
  take(samples: readonly Sample[]): ProjectorState {
    for (const sample of samples) if (COUNTERS.has(sample.name)) this.#count(sample);
    const lag = (topics: string) => {
      const partitions = samples.filter(
        ({ name, labels }) => name === 'store_data_partition_lag' && labels['topic']?.startsWith(topics),
      );
      return partitions.length === 0 ? null : sum(partitions.map(({ value }) => value));
    };
    const isAccess = ({ labels }: Sample) => ACCESS_ENTITIES.has(labels['entity'] ?? '');
    const ofChanges = ({ labels }: Sample) => labels['topic']?.startsWith('store-changes.') === true;
    return {
      applied: this.#total(APPLIED),
      changesHandled:
        this.#total(APPLIED, (sample) => !isAccess(sample)) +
        this.#total(OUTDATED) +
        this.#total(DEAD, ofChanges),
      keysApplied: this.#total(APPLIED, ({ labels }) => labels['entity'] === 'access_key'),
      deadLetters: this.#total(DEAD),
      changesLag: lag('store-changes.'),
      accessLag: lag('store-access.'),
      accessPending: sum(
        samples.filter(({ name }) => name === 'store_data_access_pending').map(({ value }) => value),
      ),
      freshness: histogramOf(samples, 'store_data_freshness_seconds'),
    };
  }

  #count(sample: Sample): void {
    const key = `${sample.name} ${JSON.stringify(sample.labels)}`;
    const known = this.#counters.get(key);
    const restarted = known !== undefined && sample.value < known.sample.value;
    const before = (known?.before ?? 0) + (restarted ? known.sample.value : 0);
    this.#counters.set(key, { sample, before });
  }

  #total(name: string, which: (sample: Sample) => boolean = () => true): number {
    const counted = [...this.#counters.values()].filter(
      ({ sample }) => sample.name === name && which(sample),
    );
    return sum(counted.map(({ sample, before }) => before + sample.value));
  }
}

const POLL_MS = 100;
/** A projector that was started again has lost some of its counts; so long without a lag, all has arrived just the same. */
const IDLE_MS = 3_000;

/** Looks at the projector until `isDone`, or until `isIdle` has been true for a while. */
export async function awaitProjector(
  watch: ProjectorWatch,
  stopping: AbortSignal,
  { isDone, isIdle }: Record<'isDone' | 'isIdle', (state: ProjectorState) => boolean>,
): Promise<void> {
  let idleSince: number | null = null;
  for (;;) {
    const state = await watch.look();
    if (state !== null) {
      if (isDone(state)) return;
      idleSince = isIdle(state) ? (idleSince ?? Date.now()) : null;
      if (idleSince !== null && Date.now() - idleSince > IDLE_MS) return;
    }
    await sleep(POLL_MS, undefined, { signal: stopping });
  }
}
