/** The stores that are measured: many, of very different size. */
import { CAMPAIGN_CHANNELS, CAMPAIGN_STATUSES, DISCOUNT_TYPES } from '#shared/events/entities.ts';
import { orderRecord } from './order.ts';
import { type BenchStore, customerRecord, fullName, instantAt, money, pick, type StoreRecord } from './record.ts';
import { storeRecord } from './store.ts';

export interface StoreSize {
  storeId: string;
  orders: number;
  customers: number;
  products: number;
  categories: number;
  groups: number;
  coupons: number;
  reviews: number;
}

/** One store of 200,000 orders, four of 10,000 and fifteen of 100, or in that proportion. */
export function mixedStores(orders: number): StoreSize[] {
  const sizes = [orders, ...Array.from({ length: 4 }, () => orders / 20)];
  return [...sizes, ...Array.from({ length: 15 }, () => orders / 2_000)].map((size, index) =>
    sizeOf(`store-${index}`, Math.ceil(size)),
  );
}

/** A store whose other records are as many as its orders make likely. */
export function sizeOf(storeId: string, orders: number): StoreSize {
  const categories = orders > 50_000 ? 40 : orders > 1_000 ? 20 : 8;
  const few = Math.max(40, Math.ceil(orders / 10));
  const coupons = Math.min(few, 1_000);
  const products = categories * 12;
  return {
    storeId,
    orders,
    customers: few,
    products,
    categories,
    groups: products / 4,
    coupons,
    reviews: few,
  };
}

export function storeOf({ storeId, customers, orders, ...size }: StoreSize): BenchStore {
  const { products, categories, groups, coupons, reviews } = size;
  function* records(): Generator<StoreRecord> {
    yield storeRecord(storeId);
    yield* times(categories, categoryRecord);
    yield* times(groups, optionGroupRecord);
    yield* times(products, (index) => productRecord(index, categories, groups));
    yield* times(customers, customerRecord);
    yield* times(orders, (index) => orderRecord(index, customers));
    yield* times(coupons, couponRecord);
    yield* times(coupons, campaignRecord);
    yield* times(reviews, (index) => reviewRecord(index, customers));
  }
  const total = 1 + categories + groups + products + customers + orders + 2 * coupons + reviews;
  return { storeId, size: total, records: { [Symbol.iterator]: records } };
}

function* times(count: number, make: (index: number) => StoreRecord): Generator<StoreRecord> {
  for (let index = 0; index < count; index += 1) yield make(index);
}

const DISHES = ['Pizza Calabresa', 'Pizza Portuguesa', 'Açaí', 'Esfiha', 'Guaraná', 'Água sem gás'] as const;
const GROUPS = ['Borda', 'Adicionais', 'Tamanho', 'Ponto da carne', 'Bebida', 'Molhos'] as const;

export function categoryRecord(index: number): StoreRecord {
  return {
    entity: 'category',
    id: `k${index}`,
    state: {
      name: `${pick(['Pizzas', 'Bebidas', 'Sobremesas', 'Esfihas', 'Combos'], index)} ${index}`,
      description: 'Feitas no forno a lenha, com massa de fermentação natural',
      position: index,
      active: true,
      image_url: `https://img.example/categorias/${index}.jpg`,
      created_at: instantAt(index),
      updated_at: instantAt(index + 3),
    },
  };
}

export function productRecord(index: number, categories: number, groups: number): StoreRecord {
  const first = (index * 2) % groups;
  return {
    entity: 'product',
    id: `p${index}`,
    state: {
      category_id: `k${index % categories}`,
      name: `${pick(DISHES, index)} ${index}`,
      description: 'Molho de tomate da casa, muçarela, calabresa fatiada, cebola e orégano',
      price: money(1_990 + (index % 4_000)),
      promotional_price: index % 5 === 0 ? money(1_490 + (index % 400)) : null,
      active: index % 20 !== 19,
      position: Math.floor(index / categories),
      image_url: `https://img.example/produtos/${index}.jpg`,
      external_code: `SKU-${index}`,
      ean: `789${String(1_000_000_000 + index)}`,
      serves: 1 + (index % 4),
      option_group_ids: [`g${first}`, `g${(first + 1) % groups}`],
      created_at: instantAt(index),
      updated_at: instantAt(index + 7),
    },
  };
}

export function optionGroupRecord(index: number): StoreRecord {
  return {
    entity: 'option_group',
    id: `g${index}`,
    state: {
      name: `${pick(GROUPS, index)} ${index}`,
      min: 0,
      max: 3,
      price_method: pick(['sum', 'max', 'average'], index),
      position: index % 10,
      external_code: `OG-${index}`,
      options: Array.from({ length: 4 }, (_, option) => ({
        id: `a${index}-${option}`,
        name: pick(['Catupiry', 'Cheddar', 'Sem borda', 'Chocolate'], option),
        description: 'Porção de 80 g',
        price: money(300 + option * 150),
        max_quantity: 2,
        active: (index + option) % 7 !== 0,
        position: option,
        external_code: `OP-${index}-${option}`,
      })),
    },
  };
}

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

export function reviewRecord(index: number, customers: number): StoreRecord {
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
      replied_at: index % 2 === 0 ? instantAt(index + 4) : null,
      created_at: instantAt(index),
    },
  };
}
