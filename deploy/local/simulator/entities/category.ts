/** Categories of a store's menu. */
import type { CategoryState } from '#shared/events/entities/category.ts';
import { instant } from '../instant.ts';
import type { MenuCategory } from '../menus/menu.ts';
import { imageUrl, type SimulatedStore } from './store.ts';

/** The record of a category, as old as the store. */
export function categoryState(store: SimulatedStore, category: MenuCategory, now: number): CategoryState {
  const { id, name, description, position, active } = category;
  const created = instant(now - store.age);
  return {
    name,
    description,
    position,
    active,
    image_url: imageUrl(store, id),
    created_at: created,
    updated_at: created,
  };
}
