/** Option groups of a store's menu: what can be chosen with its products. */
import type { OptionGroupState } from '#shared/events/entities/option-group.ts';
import type { MenuOptionGroup } from '../menus/menu.ts';
import { money } from '../money.ts';

/** The record of an option group. */
export function optionGroupState(group: MenuOptionGroup): OptionGroupState {
  return {
    name: group.name,
    min: group.min,
    max: group.max,
    price_method: group.priceMethod,
    position: group.position,
    external_code: group.externalCode,
    options: group.options.map((option) => ({
      id: option.id,
      name: option.name,
      description: option.description,
      price: money(option.price),
      max_quantity: option.maxQuantity,
      active: option.active,
      position: option.position,
      external_code: option.externalCode,
    })),
  };
}
