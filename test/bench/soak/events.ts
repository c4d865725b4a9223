/**
 * What the simulated traffic leaves out: campaigns, categories, products that go and come back, stores that move to another offset,
 * customers and orders that are deleted.
 */
import { regularCustomer, type SimulatedStore } from '#local/simulator/store.ts';
import { offers } from '#local/simulator/history.ts';
import type { EventToEncode } from '#shared/events/encode.ts';
import { describeError } from '#shared/errors.ts';
import { pause } from '#shared/waiting.ts';
import type { Installation } from '#test/installation.ts';
import type { Tally } from './client.ts';

type Event = Omit<EventToEncode, 'source'>;

export interface Origin {
  seed: number;
  environment: string;
  /** When the history was made. */
  now: number;
  /** Orders that each store has behind it. */
  history: number;
}

const EVERY_MS = 1_000;
/** Every so many records of stores tell of another offset. */
const MOVES_EVERY = 13;
const ELSEWHERE = '-04:00';
const STATUSES = ['draft', 'scheduled', 'running', 'finished', 'cancelled'] as const;

/** Each makes the event of one store in one round; rounds of a store go up by one. */
const KINDS: ((store: SimulatedStore, round: number, origin: Origin) => Event | null)[] = [
  (store, round, { seed, environment, now, history }) => {
    const all = [...offers({ seed, environment, store, now }, new Map(), history)];
    const campaigns = all.filter(({ entity }) => entity === 'campaign');
    const { entity, storeId, subject, data } = at(campaigns, round);
    const changed = { ...data, status: at(STATUSES, round), updated_at: new Date() };
    return { entity, storeId, subject, sequence: Date.now(), data: changed };
  },
  (store, round) => {
    const [subject, category] = at([...store.menu.categories], round);
    const data = { ...category, description: `Edição ${round}`, updated_at: new Date() };
    return { entity: 'category', storeId: store.id, subject, sequence: Date.now(), data };
  },
  (store, round) => {
    const hasMoved = (Number(store.id.slice(1)) + round) % MOVES_EVERY === 0;
    const data = hasMoved ? { ...store.record, timezone_offset: ELSEWHERE } : store.record;
    return { entity: 'store', storeId: store.id, subject: store.id, sequence: Date.now(), data };
  },
  (store, round) => {
    // Deleted in one round, back in the next.
    const [subject, product] = at([...store.menu.products], Math.floor(round / 2));
    const gone = { entity: 'product', storeId: store.id, subject, sequence: Date.now() };
    return round % 2 === 0 ? { ...gone, action: 'deleted' } : { ...gone, data: product };
  },
  (store, round, { seed, environment, now }) => {
    const customer = regularCustomer({ seed, environment, store, now }, 1 + (Math.floor(round / 2) % 10));
    const gone = { entity: 'customer', storeId: store.id, subject: customer.id, sequence: Date.now() };
    return round % 2 === 0 ? { ...gone, action: 'deleted' } : { ...gone, data: customer.state };
  },
  (store, round, { history }) => {
    if (round >= history) return null;
    const subject = `o${round + 1}`;
    return { entity: 'order', action: 'deleted', storeId: store.id, subject, sequence: Date.now() };
  },
];

/** Publishes one of these every second, until the signal is aborted. What Kafka does not take is told and left out. */
export async function publishRest(
  installation: Installation,
  stores: readonly SimulatedStore[],
  tally: Tally,
  origin: Origin,
  over: AbortSignal,
): Promise<void> {
  for (let turn = 0; await pause(EVERY_MS, over); turn += 1) {
    const store = at(stores, Math.floor(turn / KINDS.length));
    const event = at(KINDS, turn)(store, Math.floor(turn / KINDS.length / stores.length), origin);
    try {
      if (event !== null) await installation.publish([event]);
    } catch (error) {
      tally.wrong('publishing', describeError(error));
    }
  }
}

/** One after the other, again and again. */
function at<T>(items: readonly T[], turn: number): T {
  const item = items[turn % items.length];
  if (item === undefined) throw new RangeError('there is none');
  return item;
}
