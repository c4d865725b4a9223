/** What the events of one store and environment have said so far, to check that new ones fit to it. */
import { expect } from 'vitest';
import type { SimulatedEvent } from '#local/simulator/event.ts';
import type { CouponState } from '#shared/events/entities/coupon.ts';
import type { OptionGroupState } from '#shared/events/entities/option-group.ts';
import type { OrderState } from '#shared/events/entities/order.ts';
import type { ProductState } from '#shared/events/entities/product.ts';
import { cents } from './checks.ts';

type Item = NonNullable<OrderState['items']>[number];

export class ShopWindow {
  readonly categories = new Map<string, boolean>();
  readonly products = new Map<string, ProductState>();
  readonly groups = new Map<string, OptionGroupState>();
  readonly orders = new Map<string, OrderState>();
  readonly coupons = new Map<string, CouponState>();
  /** How often orders have named each coupon. */
  readonly usage = new Map<string, number>();

  /** Takes an event in; orders placed now must be made of what is to be had now, at its price. */
  take(event: SimulatedEvent): void {
    const { entity, subject: id } = event;
    if (entity === 'category') this.categories.set(id, event.data.active);
    if (entity === 'product') this.#takeProduct(id, event.data);
    if (entity === 'option_group') this.#takeGroup(id, event.data);
    if (entity === 'coupon') this.coupons.set(id, event.data);
    if (entity === 'order') {
      if (!this.orders.has(id)) this.#takeNewOrder(event.data);
      this.orders.set(id, event.data);
    }
    if (entity === 'review') {
      const order = this.orders.get(event.data.order_id ?? '');
      expect(order?.status).toBe('concluded');
      expect(event.data).toMatchObject({
        customer_id: order?.customer?.id,
        customer_name: order?.customer?.name,
      });
      expect(Date.parse(event.data.created_at)).toBeGreaterThan(Date.parse(order?.updated_at ?? ''));
      expect(event.sequence).toBe(event.data.reply === null ? 1 : 2);
      expect(event.data.reply === null).toBe(event.data.replied_at === null);
    }
  }

  /** Coupons say how often orders have named them. */
  checkUsage(): void {
    for (const [id, used] of this.usage) expect(this.coupons.get(id)?.usage_count).toBe(used);
    for (const { usage_count, usage_limit } of this.coupons.values()) {
      expect(usage_count).toBeLessThanOrEqual(usage_limit ?? Number.POSITIVE_INFINITY);
    }
  }

  #takeProduct(id: string, product: ProductState): void {
    expect([...this.categories.keys()]).toContain(product.category_id);
    for (const group of product.option_group_ids ?? []) expect([...this.groups.keys()]).toContain(group);
    if (product.promotional_price) {
      expect(cents(product.promotional_price)).toBeLessThan(cents(product.price));
    }
    expect(new URL(product.image_url ?? '').hostname).toMatch(/\.example\.com$/);
    this.products.set(id, product);
  }

  #takeGroup(id: string, group: OptionGroupState): void {
    const active = group.options.filter((option) => option.active);
    expect(active.length).toBeGreaterThanOrEqual(Math.max(group.min, 1));
    this.groups.set(id, group);
  }

  #takeNewOrder({ items, coupon }: OrderState): void {
    for (const item of items ?? []) this.#checkItem(item);
    if (typeof coupon?.id === 'string') this.usage.set(coupon.id, (this.usage.get(coupon.id) ?? 0) + 1);
  }

  #checkItem(item: Item): void {
    const product = this.products.get(item.product_id);
    if (product === undefined) throw new Error(`there is no product ${item.product_id}`);
    expect(product.name).toBe(item.name);
    expect(product.active && this.categories.get(product.category_id ?? '')).toBe(true);
    let joint = 0;
    for (const [id, chosen] of Map.groupBy(item.options ?? [], (option) => option.option_group_id)) {
      const group = this.groups.get(id ?? '');
      if (group === undefined) throw new Error(`there is no option group ${id}`);
      expect(product.option_group_ids).toContain(id);
      expect(chosen.length).toBeGreaterThanOrEqual(group.min);
      expect(chosen.length).toBeLessThanOrEqual(group.max);
      const options = chosen.map(({ option_id: optionId }) =>
        group.options.find((option) => option.id === optionId),
      );
      for (const option of options) expect(option?.active).toBe(true);
      const prices = options.map((option) => cents(option?.price));
      if (group.price_method === 'max') joint += Math.max(...prices);
      if (group.price_method === 'average') joint += Math.round((prices[0] ?? 0) / 2 + (prices[1] ?? 0) / 2);
    }
    const price = cents(product.promotional_price ?? product.price);
    expect(cents(item.unit_price)).toBe(price + joint);
  }
}
