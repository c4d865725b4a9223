/**
 * Folding: a slice's messages, read and gathered by entity, so that each entity is written once. Pure.
 * What an entity went through inside the slice is kept: that the outcome never depends on where slices are cut.
 */
import type { KafkaMessage } from 'kafkajs';
import { EventRejected } from '../../events/rejection.ts';
import { tombstoneId } from '../../read-models/collections.ts';
import type { ProjectedChange } from './projected-change.ts';
import { takeChange } from './read-ahead.ts';

/** A change and its place in the slice. */
export interface Entry {
  change: ProjectedChange;
  /** Index of its message in the slice. */
  at: number;
}

/** What one entity went through: its entries, versions ascending. */
export interface Chain {
  /** `<entity>/<store id>/<entity id>` */
  key: string;
  entries: Entry[];
  /** Entries that were not above the version before them. */
  outdated: number;
}

export interface Rejected {
  message: KafkaMessage;
  rejection: EventRejected;
}

export interface FoldedSlice {
  chains: Map<string, Chain>;
  rejected: Rejected[];
}

/** Reads and folds messages. An entry that is not above the one before it can never take effect and is dropped. */
export function fold(messages: readonly KafkaMessage[]): FoldedSlice {
  const chains = new Map<string, Chain>();
  const rejected: Rejected[] = [];
  for (const [at, message] of messages.entries()) {
    let change: ProjectedChange;
    try {
      change = takeChange(message);
    } catch (error) {
      if (!(error instanceof EventRejected)) throw error;
      rejected.push({ message, rejection: error });
      continue;
    }
    const key = tombstoneId(change.entity, change.storeId, change.id);
    const chain = chains.get(key);
    if (chain === undefined) {
      chains.set(key, { key, entries: [{ change, at }], outdated: 0 });
    } else if (change.sequence > (chain.entries.at(-1)?.change.sequence ?? -1)) {
      chain.entries.push({ change, at });
    } else {
      chain.outdated += 1;
    }
  }
  return { chains, rejected };
}
