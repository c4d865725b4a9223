/** Campaigns of a store: messages to its customers, from the first draft to what came of them. */
import type {
  CAMPAIGN_CHANNELS,
  CAMPAIGN_STATUSES,
  CampaignState,
} from '#shared/events/entities/campaign.ts';
import { instant, localDay } from '../instant.ts';
import { percentOf } from '../money.ts';
import { type Chance, draw } from '../random.ts';
import type { CustomerOrigin } from './customer.ts';

type Status = (typeof CAMPAIGN_STATUSES)[number];

interface CampaignRecipe {
  name: string;
  channel: (typeof CAMPAIGN_CHANNELS)[number];
  status: Status;
  /** Days from now at which it begins and ends; a draft has none. */
  days: { from: number; to: number } | null;
  message: string;
  audience: string;
  couponId: string | null;
}

/** Campaigns are written so many days before they begin. */
const PREPARED_DAYS = 5;

/** The first five have every status once. `{}` stands for the store's name. */
const RECIPES: readonly CampaignRecipe[] = [
  {
    name: 'Volta, cliente!',
    channel: 'whatsapp',
    status: 'running',
    days: { from: -3, to: 4 },
    message: 'Saudades da {}? Use VOLTA5 e ganhe R$ 5,00 no seu próximo pedido.',
    audience: 'Clientes sem pedidos há 30 dias',
    couponId: 'cp2',
  },
  {
    name: 'Entrega grátis no mês',
    channel: 'push',
    status: 'finished',
    days: { from: -40, to: -10 },
    message: 'Entrega grátis na {} com FRETEGRATIS em pedidos a partir de R$ 50,00.',
    audience: 'Quem já pediu entrega',
    couponId: 'cp3',
  },
  {
    name: 'Feriado em casa',
    channel: 'email',
    status: 'scheduled',
    days: { from: 9, to: 13 },
    message: 'No feriado, R$ 15,00 de desconto na {} para os primeiros 200 pedidos.',
    audience: 'Todos os que aceitam receber ofertas',
    couponId: 'cp5',
  },
  {
    name: 'Novos pratos',
    channel: 'sms',
    status: 'draft',
    days: null,
    message: 'A {} tem novidades no cardápio. Venha provar!',
    audience: 'Clientes com mais de cinco pedidos',
    couponId: null,
  },
  {
    name: 'Noite em dobro',
    channel: 'whatsapp',
    status: 'cancelled',
    days: { from: -20, to: -19 },
    message: 'Só nesta noite na {}: peça um e leve dois.',
    audience: 'Todos os que aceitam receber ofertas',
    couponId: null,
  },
  {
    name: 'Aniversário da loja',
    channel: 'email',
    status: 'finished',
    days: { from: -80, to: -73 },
    message: 'A {} faz aniversário e o presente é seu: 20% com ANIVERSARIO20.',
    audience: 'Todos os que aceitam receber ofertas',
    couponId: 'cp4',
  },
  {
    name: 'Sabor para todos',
    channel: 'push',
    status: 'running',
    days: { from: -1, to: 6 },
    message: 'Hoje tem {}! 10% em qualquer pedido com SABOR10.',
    audience: 'Quem tem o aplicativo',
    couponId: 'cp1',
  },
  {
    name: 'Avalie o seu pedido',
    channel: 'sms',
    status: 'finished',
    days: { from: -15, to: -8 },
    message: 'O que achou da {}? A sua opinião nos ajuda a melhorar.',
    audience: 'Quem pediu na última semana',
    couponId: null,
  },
];
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
