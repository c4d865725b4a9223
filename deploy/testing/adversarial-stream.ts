/**
 * Changes of a store in the worst order and with the worst dates that real sources send. The same
 * for the same seed.
 */
import { exampleEvent } from '#shared/events/describe-fields.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { ORDER_STATUSES } from '#shared/records/order.ts';
import type { Change } from './api.d.ts';
import { Random } from './random.ts';

export interface StreamChange extends Change {
  storeId: string;
  sequence: number;
  time: Date;
  /** Why a client may miss it; for the report. */
  about: Adversity;
}

export type Adversity =
  | 'dated when it happened'
  | 'undated'
  | 'dated 30 days before it happened'
  | 'dated 2 days after it happened'
  | 'late'
  | 'a deletion'
  | 'a dead letter that was retried';

/** The number of records of each entity, and its share of the changes. Orders grow in number. */
const ENTITIES: Record<EntityName, { records: number; percent: number }> = {
  order: { records: 0, percent: 55 },
  customer: { records: 40, percent: 9 },
  review: { records: 60, percent: 9 },
  product: { records: 40, percent: 9 },
  option_group: { records: 12, percent: 5 },
  category: { records: 12, percent: 5 },
  coupon: { records: 12, percent: 3 },
  campaign: { records: 12, percent: 3 },
  store: { records: 1, percent: 2 },
};
const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 2, 1);
const MAX_DELAY = 20;
const OFFSETS = ['-03:00', '-03:00', '-04:00', '-02:00', '+05:30'];

export type AdversarialStream = ReturnType<typeof adversarialStream>;

export function adversarialStream(storeId: string, seed: number) {
  const random = new Random(seed);
  /** Each entity as often as its percent says. */
  const sources = (Object.keys(ENTITIES) as EntityName[]).flatMap((entity) =>
    Array<EntityName>(ENTITIES[entity].percent).fill(entity),
  );
  /** Late changes, each with the number of changes to publish before it. */
  let held: { change: StreamChange; after: number }[] = [];
  let sequence = 0;
  let orders = 0;
  /** The newest change of every record, by entity and id. */
  const newest = new Map<string, StreamChange>();

  function note(change: StreamChange): void {
    const key = `${change.entity}/${change.id}`;
    if ((newest.get(key)?.sequence ?? 0) < change.sequence) newest.set(key, change);
  }

  function make(): StreamChange {
    const entity = random.pick(sources);
    const change = envelope(entity, subject(entity));
    const deletes = random.chance(entity === 'customer' ? 0.25 : 0.12);
    if (deletes) return { ...change, about: 'a deletion' };
    const { about, ...dates } = datesOf(change.time);
    return { ...change, about, data: { ...state(entity, change.sequence), ...dates } };
  }

  function envelope(entity: EntityName, id: string): Omit<StreamChange, 'about'> {
    sequence += 1;
    // Three a second, so that there are ties.
    const time = new Date(FIRST_DAY + Math.floor(sequence / 3) * 1_000);
    return { entity, id, storeId, sequence, time };
  }

  function subject(entity: EntityName): string {
    if (entity === 'store') return storeId;
    const { records } = ENTITIES[entity];
    if (entity !== 'order') return `${entity}-${random.below(records)}`;
    // The number of orders grows; most changes are of the 20 newest.
    if (random.chance(0.5)) orders += 1;
    const isRecent = random.chance(0.7);
    return `order-${isRecent ? orders - random.below(Math.min(orders, 20)) : random.below(orders)}`;
  }

  function datesOf(time: Date): { about: Adversity; updated_at?: string } {
    const dated = (about: Adversity, shift: number) => ({
      about,
      updated_at: new Date(time.getTime() + shift).toISOString(),
    });
    return random.pick([
      { about: 'undated' as const },
      dated('dated when it happened', 0),
      dated('dated 30 days before it happened', -30 * DAY_MS),
      dated('dated 2 days after it happened', 2 * DAY_MS),
    ]);
  }

  /** The example of docs/events.md with other references, and a text that shows its version. */
  function state(entity: EntityName, version: number): object {
    const text = `v${version}`;
    const id = `customer-${random.below(ENTITIES.customer.records)}`;
    const customer = random.chance(0.8) ? { id, name: 'Maria', phone: '11 9' } : null;
    const ofEntity: Partial<Record<EntityName, object>> = {
      store: { timezone_offset: random.pick(OFFSETS) },
      order: { customer, status: random.pick(ORDER_STATUSES), total: `${version}.00` },
      review: { customer_id: id },
      product: {
        category_id: random.chance(0.85) ? `category-${random.below(14)}` : null,
        option_group_ids: [12, 14].map((end) => `option_group-${random.below(end)}`),
      },
    };
    return {
      ...exampleEvent(entity).data,
      // An entity has some of these; what it does not know is ignored.
      name: text,
      display_id: text,
      comment: text,
      description: text,
      active: random.chance(0.75),
      position: random.below(3),
      created_at: new Date(FIRST_DAY + random.below(1_000) * 500).toISOString(),
      updated_at: undefined,
      ...ofEntity[entity],
    };
  }

  return {
    newest,
    note,

    /** The next changes in the order of publishing. Some come twice. */
    next(count: number): StreamChange[] {
      const changes: StreamChange[] = [];
      while (changes.length < count) {
        const change = make();
        if (random.chance(0.1)) {
          const about = change.data === undefined ? change.about : 'late';
          held.push({ change: { ...change, about }, after: random.below(MAX_DELAY) });
        } else {
          changes.push(change);
        }
        if (random.chance(0.03)) changes.push(change);
        const due = held.filter(({ after }) => after === 0);
        held = held
          .filter(({ after }) => after > 0)
          .map((late) => ({ ...late, after: late.after - 1 }));
        changes.push(...due.map((late) => late.change));
      }
      for (const change of changes) note(change);
      return changes;
    },

    /** An order that no other change of the stream names. Call `note` once it is published. */
    makeOrder(id: string, about: Adversity): StreamChange {
      const change = envelope('order', id);
      return { ...change, about, data: { ...state('order', change.sequence), customer: null } };
    },

    /** The late changes that are not published yet. */
    rest(): StreamChange[] {
      const changes = held.splice(0).map(({ change }) => change);
      for (const change of changes) note(change);
      return changes;
    },
  };
}
