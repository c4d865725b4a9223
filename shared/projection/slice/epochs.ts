/**
 * The epochs that this process may continue: for each store the last position that it gave. If the
 * stamp differs, another process gave positions, the database was restored, or a commit's outcome
 * is unknown: then a new epoch begins. So the positions of one epoch are one chain.
 */
import { LRUCache } from 'lru-cache';
import type { EntityName } from '../../events/entities.ts';
import type { Stamp } from '../../read-models/collections.ts';
import { newEpoch, presentEpoch, withEpoch } from '../../read-models/feed-epochs.ts';

/** A store that is forgotten costs an epoch. */
const CACHED_STORES = 100_000;

/** The last given position, and its epoch. */
export interface Given {
  epoch: string;
  position: number;
}

export interface TakenPositions {
  position: number;
  positions: Partial<Record<EntityName, number>>;
}

export function takePosition(taken: TakenPositions, entity: EntityName): number {
  taken.position += 1;
  taken.positions[entity] = taken.position;
  return taken.position;
}

export type GivenPositions = ReadonlyMap<string, Given>;

export class Epochs {
  readonly #given: LRUCache<string, Given>;
  readonly #newEpoch: () => string;

  /** @param stores how many it remembers; memory for all is allocated at once. */
  constructor(makeEpoch = newEpoch, stores = CACHED_STORES) {
    this.#given = new LRUCache({ max: stores });
    this.#newEpoch = makeEpoch;
  }

  /** The fields of a stamp after new positions, and the position given last. */
  fieldsAfter(storeId: string, stamp: Stamp | undefined, { position, positions }: TakenPositions) {
    const given = this.#given.get(storeId);
    const isOurs =
      given !== undefined &&
      given.position === stamp?.position &&
      given.epoch === presentEpoch(stamp.epochs);
    const epoch = isOurs ? given.epoch : this.#newEpoch();
    const fields: Record<string, unknown> = { position };
    for (const [entity, last] of Object.entries(positions)) fields[`positions.${entity}`] = last;
    if (!isOurs)
      fields['epochs'] = withEpoch(stamp?.epochs, { id: epoch, from: (stamp?.position ?? 0) + 1 });
    return { fields, given: { epoch, position } };
  }

  /** Call it before a commit, whose outcome may stay unknown. */
  forget(given: GivenPositions): void {
    for (const storeId of given.keys()) this.#given.delete(storeId);
  }

  /** Call it once the transaction is committed. */
  committed(given: GivenPositions): void {
    for (const [storeId, last] of given) this.#given.set(storeId, last);
  }
}
