/** Every entity of the changes topic with the schema of its state. A new entity is one file and one line here. */
import { CustomerState } from './customer.ts';
import { OrderState } from './order.ts';
import { StoreState } from './store.ts';

export const entitySchemas = {
  store: StoreState,
  customer: CustomerState,
  order: OrderState,
} as const;

/** The state type of each entity. */
export interface EntityStates {
  store: StoreState;
  customer: CustomerState;
  order: OrderState;
}

export type EntityName = keyof EntityStates;

export const ENTITY_NAMES = Object.keys(entitySchemas) as EntityName[];
