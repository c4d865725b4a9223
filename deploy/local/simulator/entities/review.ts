/** Reviews of orders that have come to their end: most are content, some are not, and some of them get a reply. */
import { Type } from 'typebox';
import type { ReviewState } from '#shared/events/entities/review.ts';
import { readData } from '../data/read.ts';
import { instant } from '../instant.ts';
import { type Chance, happens, pick } from '../random.ts';
import type { SimulatedOrder } from './order.ts';

export interface SimulatedReview {
  id: string;
  /** Without its reply. */
  state: ReviewState;
  reply: string | null;
}

const REVIEWED_PERCENT = 35;

/** As in life: the content and the angry write, those between seldom do. */
const RATINGS = [
  { weight: 62, value: 5 },
  { weight: 18, value: 4 },
  { weight: 8, value: 3 },
  { weight: 4, value: 2 },
  { weight: 8, value: 1 },
];

const Mood = Type.Object({
  comments: Type.Array(Type.String()),
  replies: Type.Array(Type.String()),
  /** Percentages: of those who write no comment, and of those who get a reply. */
  silent: Type.Number(),
  replied: Type.Number(),
});
const { glad, lukewarm, angry } = readData(
  'reviews',
  Type.Object({ glad: Mood, lukewarm: Mood, angry: Mood }),
);

/** What the customer of a concluded order writes; `null` where nobody does. */
export function orderReview(
  chance: Chance,
  order: SimulatedOrder,
  createdAt: number,
): SimulatedReview | null {
  const { customer } = order.placed;
  if (!isReviewable(order) || !customer || !happens(chance, REVIEWED_PERCENT)) return null;
  const rating = chance.helpers.weightedArrayElement(RATINGS);
  const mood = rating > 3 ? glad : rating === 3 ? lukewarm : angry;
  return {
    id: `r-${order.id}`,
    state: {
      order_id: order.id,
      customer_id: customer.id,
      customer_name: customer.name ?? null,
      rating,
      comment: happens(chance, mood.silent) ? null : pick(chance, mood.comments),
      reply: null,
      replied_at: null,
      created_at: instant(createdAt),
    },
    reply: happens(chance, mood.replied) ? pick(chance, mood.replies) : null,
  };
}

/** The review once the store has replied. */
export function repliedReview({ state, reply }: SimulatedReview, repliedAt: number): ReviewState {
  return { ...state, reply, replied_at: instant(repliedAt) };
}

function isReviewable({ journey }: SimulatedOrder): boolean {
  return journey.steps.at(-1)?.status === 'concluded';
}
