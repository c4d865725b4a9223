/** Coupons, campaigns and reviews. */
import { CAMPAIGN_CHANNELS, CAMPAIGN_STATUSES } from '#shared/events/entities/campaign.ts';
import { DISCOUNT_TYPES } from '#shared/events/entities/coupon.ts';
import { fullName } from './people.ts';
import { type Clock, instantAt, money, pick, type StoreRecord } from './record.ts';

const COMMENTS = [
  'Chegou quente e antes da hora!',
  'Pizza ótima, mas esqueceram o refrigerante.',
  'Sempre muito bom. Recomendo a portuguesa.',
] as const;

export function couponRecord(index: number): StoreRecord {
  return {
    entity: 'coupon',
    id: `n${index}`,
    state: {
      code: `PROMO${index}`,
      description: 'Desconto nos pedidos de fim de semana',
      discount_type: pick(DISCOUNT_TYPES, index),
      discount_value: money(500 + (index % 1_500)),
      minimum_order_value: '30.00',
      active: index % 3 !== 0,
      starts_at: instantAt(index),
      ends_at: instantAt(index + 2_000),
      maximum_discount: '25.00',
      usage_limit: 500,
      usage_count: index % 500,
      per_customer_limit: 1,
      order_types: ['delivery', 'takeout'],
      created_at: instantAt(index),
      updated_at: instantAt(index + 5),
    },
  };
}

export function campaignRecord(index: number): StoreRecord {
  return {
    entity: 'campaign',
    id: `m${index}`,
    state: {
      name: `Festival de Pizzas ${index}`,
      channel: pick(CAMPAIGN_CHANNELS, index),
      status: pick(CAMPAIGN_STATUSES, Math.floor(index / 4)),
      starts_at: instantAt(index + 10),
      ends_at: instantAt(index + 500),
      message: 'Olá! Hoje a segunda pizza sai pela metade do preço. É só responder esta mensagem.',
      audience: 'clientes sem pedido há 30 dias',
      coupon_id: `n${index % 100}`,
      sent_count: 1_200 + (index % 800),
      delivered_count: 1_100 + (index % 800),
      converted_count: 40 + (index % 60),
      created_at: instantAt(index),
      updated_at: instantAt(index + 9),
    },
  };
}

export function reviewRecord(index: number, customers: number, clock: Clock = instantAt): StoreRecord {
  const person = (index * 13) % Math.max(1, Math.floor(customers / 2));
  return {
    entity: 'review',
    id: `r${index}`,
    state: {
      order_id: `o${index}`,
      customer_id: `c${person}`,
      customer_name: fullName(person),
      rating: 1 + ((index * 3) % 5),
      comment: index % 4 === 0 ? null : pick(COMMENTS, index),
      reply: index % 2 === 0 ? 'Obrigado pela avaliação, volte sempre!' : null,
      replied_at: index % 2 === 0 ? clock(index + 4) : null,
      created_at: clock(index),
    },
  };
}
