/** Every entity's projection. A new entity is one file and one line here. */
import type { EntityName } from '#shared/events/entities/index.ts';
import { customerProjection } from './customer.ts';
import { orderProjection } from './order.ts';
import type { Projection } from './projection.ts';
import { storeProjection } from './store.ts';

export const projections: { [E in EntityName]: Projection<E> } = {
  store: storeProjection,
  customer: customerProjection,
  order: orderProjection,
};

/** The projection of a change's entity. */
export function projectionOf<E extends EntityName>({ entity }: { entity: E }): Projection<E> {
  return projections[entity];
}
