/** The coupons that every store gives out, whom they are for, and what each takes off an order. */
import type { DISCOUNT_TYPES } from '#shared/events/entities/coupon.ts';
import type { OrderType } from './entities/order-journey.ts';
import { percentOf } from './money.ts';

export interface CouponTerms {
  id: string;
  code: string;
  description: string;
  discountType: (typeof DISCOUNT_TYPES)[number];
  /** Percent or cents, as the type has it; zero for a free delivery. */
  value: number;
  /** The smallest subtotal it is for, in cents. */
  minimumOrder: number;
  /** The most it takes off, in cents. */
  maximumDiscount: number | null;
  orderTypes: readonly OrderType[];
  perCustomerLimit: number | null;
  /** How often it may be used, and how often it was used before the orders that the simulator knows. */
  usage: { limit: number | null; before: number };
  /** Days from now at which it begins and ends. */
  days: { from: number; to: number | null };
}

const EVERYWHERE = ['delivery', 'takeout', 'indoor'] as const;

export const COUPONS: readonly CouponTerms[] = [
  {
    id: 'cp1',
    code: 'SABOR10',
    description: '10% em qualquer pedido, até R$ 12,00',
    discountType: 'percentage',
    value: 10,
    minimumOrder: 0,
    maximumDiscount: 1200,
    orderTypes: EVERYWHERE,
    perCustomerLimit: null,
    usage: { limit: null, before: 0 },
    days: { from: -90, to: null },
  },
  {
    id: 'cp2',
    code: 'VOLTA5',
    description: 'R$ 5,00 de volta a partir de R$ 30,00',
    discountType: 'fixed',
    value: 500,
    minimumOrder: 3000,
    maximumDiscount: null,
    orderTypes: ['delivery', 'takeout'],
    perCustomerLimit: null,
    usage: { limit: null, before: 0 },
    days: { from: -60, to: 30 },
  },
  {
    id: 'cp3',
    code: 'FRETEGRATIS',
    description: 'Entrega grátis a partir de R$ 50,00',
    discountType: 'free_delivery',
    value: 0,
    minimumOrder: 5000,
    maximumDiscount: null,
    orderTypes: ['delivery'],
    perCustomerLimit: null,
    usage: { limit: null, before: 0 },
    days: { from: -45, to: 15 },
  },
  {
    id: 'cp4',
    code: 'ANIVERSARIO20',
    description: '20% na semana de aniversário da loja, um por cliente',
    discountType: 'percentage',
    value: 20,
    minimumOrder: 4000,
    maximumDiscount: 2000,
    orderTypes: EVERYWHERE,
    perCustomerLimit: 1,
    usage: { limit: 100, before: 100 },
    days: { from: -80, to: -73 },
  },
  {
    id: 'cp5',
    code: 'FERIADO15',
    description: 'R$ 15,00 no próximo feriado, para os primeiros 200',
    discountType: 'fixed',
    value: 1500,
    minimumOrder: 6000,
    maximumDiscount: null,
    orderTypes: ['delivery', 'takeout'],
    perCustomerLimit: 1,
    usage: { limit: 200, before: 0 },
    days: { from: 10, to: 13 },
  },
];

/** Whether an order of now or of the past thirty days may name the coupon. */
export function isUsable(coupon: CouponTerms, type: OrderType, subtotal: number): boolean {
  const { days, orderTypes, minimumOrder } = coupon;
  const isCurrent = days.from < 0 && (days.to === null || days.to > 0);
  return isCurrent && orderTypes.includes(type) && subtotal >= minimumOrder;
}

/** What a coupon takes off, in cents; never more than the order costs. */
export function discountOf(coupon: CouponTerms, subtotal: number, deliveryFee: number): number {
  if (coupon.discountType === 'free_delivery') return deliveryFee;
  const discount = coupon.discountType === 'fixed' ? coupon.value : percentOf(subtotal, coupon.value);
  return Math.min(discount, subtotal, coupon.maximumDiscount ?? discount);
}
