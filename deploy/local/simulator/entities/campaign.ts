/** Campaigns of a store: messages to its customers, from the first draft to what came of them. */
import { Type } from 'typebox';
import { CampaignState } from '#shared/events/entities/campaign.ts';
import { orNull, readData } from '../data/read.ts';
import { instant, localDay } from '../instant.ts';
import { percentOf } from '../money.ts';
import { type Chance, draw } from '../random.ts';
import type { CustomerOrigin } from './customer.ts';

type Status = CampaignState['status'];

const CampaignRecipe = Type.Object({
  name: Type.String(),
  channel: CampaignState.properties.channel,
  status: CampaignState.properties.status,
  /** Days from now at which it begins and ends; a draft has none. */
  days: orNull(Type.Object({ from: Type.Integer(), to: Type.Integer() })),
  message: Type.String(),
  audience: Type.String(),
  couponId: orNull(Type.String()),
});
type CampaignRecipe = Type.Static<typeof CampaignRecipe>;

const RECIPES = readData('campaigns', Type.Array(CampaignRecipe));
/** Campaigns are written so many days before they begin. */
const PREPARED_DAYS = 5;
const LEAST = 5;
const ORDERS_PER_CAMPAIGN = 25;

/** The campaigns of a store with so many orders and customers: busy stores have more of them. */
export function campaigns(
  { seed, environment, store, now }: CustomerOrigin,
  { orders, customers }: { orders: number; customers: number },
): { id: string; state: CampaignState }[] {
  const count = Math.max(LEAST, Math.ceil(orders / ORDERS_PER_CAMPAIGN));
  const day = (days: number) => instant(localDay(now, store.city.timezoneOffset, days));
  return RECIPES.slice(0, count).map((recipe, index) => {
    const { name, channel, status, days, message, audience, couponId } = recipe;
    return {
      id: `m${index + 1}`,
      state: {
        name,
        channel,
        status,
        starts_at: days === null ? null : day(days.from),
        ends_at: days === null ? null : day(days.to),
        message: message.replace('{}', store.name),
        audience,
        coupon_id: couponId,
        ...draw(seed, ['campaign', environment, store.id, index], (chance) =>
          outcome(chance, status, customers),
        ),
        created_at: day(preparedOn(recipe)),
        updated_at: day(updatedOn(recipe)),
      },
    };
  });
}

/** To whom it went and what they did; nothing yet before it begins, nothing at all where it was called off. */
function outcome(chance: Chance, status: Status, customers: number) {
  if (status !== 'running' && status !== 'finished') {
    return { sent_count: 0, delivered_count: 0, converted_count: 0 };
  }
  const part = (of: number, min: number, max: number) => percentOf(of, chance.number.int({ min, max }));
  const sent = part(customers, 40, 80);
  const delivered = part(sent, 88, 99);
  return { sent_count: sent, delivered_count: delivered, converted_count: part(delivered, 4, 18) };
}

/** The day on which it was written. */
function preparedOn({ days }: CampaignRecipe): number {
  return Math.min(days?.from ?? 0, 0) - PREPARED_DAYS;
}

/** The day on which its status became what it is. */
function updatedOn(recipe: CampaignRecipe): number {
  const { status, days } = recipe;
  if (days === null || status === 'scheduled') return preparedOn(recipe);
  if (status === 'cancelled') return days.from - 1;
  return status === 'finished' ? days.to : days.from;
}
