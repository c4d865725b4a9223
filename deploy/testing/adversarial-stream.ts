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

export class AdversarialStream {
  readonly #storeId: string;
  readonly #random: Random;
  /** Each entity as often as its percent says. */
  readonly #sources: EntityName[];
  /** Late changes, each with the number of changes to publish before it. */
  #held: { change: StreamChange; after: number }[] = [];
  #sequence = 0;
  #orders = 0;
  /** The newest change of every record, by entity and id. */
  readonly newest = new Map<string, StreamChange>();

  /** @param entities that change; all by default. */
  constructor(storeId: string, seed: number, entities = Object.keys(ENTITIES) as EntityName[]) {
    this.#storeId = storeId;
    this.#random = new Random(seed);
    this.#sources = entities.flatMap((entity) =>
      Array<EntityName>(ENTITIES[entity].percent).fill(entity),
    );
  }

  /** The next changes in the order of publishing. Some come twice. */
  next(count: number): StreamChange[] {
    const changes: StreamChange[] = [];
    while (changes.length < count) {
      const change = this.#make();
      if (this.#random.chance(0.1)) {
        const about = change.data === undefined ? change.about : 'late';
        this.#held.push({ change: { ...change, about }, after: this.#random.below(MAX_DELAY) });
      } else {
        changes.push(change);
      }
      if (this.#random.chance(0.03)) changes.push(change);
      const due = this.#held.filter(({ after }) => after === 0);
      this.#held = this.#held
        .filter(({ after }) => after > 0)
        .map((late) => ({ ...late, after: late.after - 1 }));
      changes.push(...due.map((late) => late.change));
    }
    for (const change of changes) this.note(change);
    return changes;
  }

  /** An order that no other change of the stream names. Call `note` once it is published. */
  makeOrder(id: string, about: Adversity): StreamChange {
    const change = this.#envelope('order', id);
    return { ...change, about, data: { ...this.#state('order', change.sequence), customer: null } };
  }

  note(change: StreamChange): void {
    const key = `${change.entity}/${change.id}`;
    if ((this.newest.get(key)?.sequence ?? 0) < change.sequence) this.newest.set(key, change);
  }

  /** The late changes that are not published yet. */
  rest(): StreamChange[] {
    const changes = this.#held.map(({ change }) => change);
    this.#held = [];
    for (const change of changes) this.note(change);
    return changes;
  }

  #make(): StreamChange {
    const entity = this.#random.pick(this.#sources);
    const change = this.#envelope(entity, this.#subject(entity));
    const deletes = this.#random.chance(entity === 'customer' ? 0.25 : 0.12);
    if (deletes) return { ...change, about: 'a deletion' };
    const { about, ...dates } = this.#dates(change.time);
    return { ...change, about, data: { ...this.#state(entity, change.sequence), ...dates } };
  }

  #envelope(entity: EntityName, id: string): Omit<StreamChange, 'about'> {
    this.#sequence += 1;
    // Three a second, so that there are ties.
    const time = new Date(FIRST_DAY + Math.floor(this.#sequence / 3) * 1_000);
    return { entity, id, storeId: this.#storeId, sequence: this.#sequence, time };
  }

  #subject(entity: EntityName): string {
    if (entity === 'store') return this.#storeId;
    const { records } = ENTITIES[entity];
    if (entity !== 'order') return `${entity}-${this.#random.below(records)}`;
    // The number of orders grows; most changes are of the 20 newest.
    if (this.#random.chance(0.5)) this.#orders += 1;
    const isRecent = this.#random.chance(0.7);
    return `order-${isRecent ? this.#orders - this.#random.below(Math.min(this.#orders, 20)) : this.#random.below(this.#orders)}`;
  }

  #dates(time: Date): { about: Adversity; updated_at?: string } {
    const dated = (about: Adversity, shift: number) => ({
      about,
      updated_at: new Date(time.getTime() + shift).toISOString(),
    });
    return this.#random.pick([
      { about: 'undated' as const },
      dated('dated when it happened', 0),
      dated('dated 30 days before it happened', -30 * DAY_MS),
      dated('dated 2 days after it happened', 2 * DAY_MS),
    ]);
  }

  /** The example of docs/events.md with other references, and a text that shows its version. */
  #state(entity: EntityName, version: number): object {
    const text = `v${version}`;
    const id = `customer-${this.#random.below(ENTITIES.customer.records)}`;
    const customer = this.#random.chance(0.8) ? { id, name: 'Maria', phone: '11 9' } : null;
    const ofEntity: Partial<Record<EntityName, object>> = {
      store: { timezone_offset: this.#random.pick(OFFSETS) },
      order: { customer, status: this.#random.pick(ORDER_STATUSES), total: `${version}.00` },
      review: { customer_id: id },
      product: {
        category_id: this.#random.chance(0.85) ? `category-${this.#random.below(14)}` : null,
        option_group_ids: [12, 14].map((end) => `option_group-${this.#random.below(end)}`),
      },
    };
    return {
      ...exampleEvent(entity).data,
      // An entity has some of these; what it does not know is ignored.
      name: text,
      display_id: text,
      comment: text,
      description: text,
      active: this.#random.chance(0.75),
      position: this.#random.below(3),
      created_at: new Date(FIRST_DAY + this.#random.below(1_000) * 500).toISOString(),
      updated_at: undefined,
      ...ofEntity[entity],
    };
  }
}
