/** Campaigns of a store: messages to its customers, from the first draft to what came of them. */
import { Type } from 'typebox';
import { CampaignState } from '#shared/events/entities/campaign.ts';
import { orNull, readData } from '../data/read.ts';
import { instant, localDay } from '../instant.ts';
import { percentOf } from '../money.ts';
import { type Chance, draw } from '../random.ts';
import type { CustomerOrigin } from './customer.ts';

const CampaignRecipe = Type.Intersect([
  Type.Pick(CampaignState, ['name', 'channel', 'status', 'message', 'audience', 'coupon_id']),
  /** Days from now at which it begins and ends; a draft has none. */
  Type.Object({ days: orNull(Type.Object({ from: Type.Integer(), to: Type.Integer() })) }),
]);
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
  return RECIPES.slice(0, count).map(({ days, ...recipe }, index) => {
    const prepared = Math.min(days?.from ?? 0, 0) - PREPARED_DAYS;
    return {
      id: `m${index + 1}`,
      state: {
        ...recipe,
        starts_at: days === null ? null : day(days.from),
        ends_at: days === null ? null : day(days.to),
        message: (recipe.message ?? '').replace('{}', store.name),
        ...draw(seed, ['campaign', environment, store.id, index], (chance) =>
          outcome(chance, recipe.status, customers),
        ),
        created_at: day(prepared),
        updated_at: day(days === null ? prepared : changedOn(recipe.status, prepared, days)),
      },
    };
  });
}

/** To whom it went and what they did; nothing yet before it begins, nothing at all where it was called off. */
function outcome(chance: Chance, status: CampaignState['status'], customers: number) {
  if (status !== 'running' && status !== 'finished') {
    return { sent_count: 0, delivered_count: 0, converted_count: 0 };
  }
  const part = (of: number, min: number, max: number) => percentOf(of, chance.number.int({ min, max }));
  const sent = part(customers, 40, 80);
  const delivered = part(sent, 88, 99);
  return { sent_count: sent, delivered_count: delivered, converted_count: part(delivered, 4, 18) };
}

/** The day on which its status became what it is. */
function changedOn(
  status: CampaignState['status'],
  prepared: number,
  { from, to }: { from: number; to: number },
): number {
  if (status === 'scheduled') return prepared;
  if (status === 'cancelled') return from - 1;
  return status === 'finished' ? to : from;
}
