/** The coupons that every store gives out, and what each takes off an order. */
import { percentOf } from './money.ts';

export interface CouponTerms {
  id: string;
  code: string;
  description: string;
  discountType: 'percentage' | 'fixed' | 'free_delivery';
  /** Percent or cents, as the type has it; zero for a free delivery. */
  value: number;
  /** The smallest subtotal it is for, in cents. */
  minimumOrder: number;
}

export const COUPONS: readonly CouponTerms[] = [
  {
    id: 'cp1',
    code: 'BEMVINDO10',
    description: '10% na primeira compra',
    discountType: 'percentage',
    value: 10,
    minimumOrder: 0,
  },
  {
    id: 'cp2',
    code: 'VOLTA5',
    description: 'R$ 5,00 de volta',
    discountType: 'fixed',
    value: 500,
    minimumOrder: 3000,
  },
  {
    id: 'cp3',
    code: 'FRETEGRATIS',
    description: 'Entrega grátis',
    discountType: 'free_delivery',
    value: 0,
    minimumOrder: 5000,
  },
];

/** What a coupon takes off, in cents; never more than the order costs. */
export function discountOf(coupon: CouponTerms, subtotal: number, deliveryFee: number): number {
  if (coupon.discountType === 'free_delivery') return deliveryFee;
  return coupon.discountType === 'fixed'
    ? Math.min(coupon.value, subtotal)
    : percentOf(subtotal, coupon.value);
}
