/** Every entity's projection, and the document that it makes. A new entity is one file and one line here. */
import type { Change } from '../../events/change.ts';
import type { EntityName } from '../../events/entities.ts';
import { SHIFTED_FIELDS, EXACT, isReversible } from '../../read-models/local-time.ts';
import { documentId, type ReadModelDocument, type Unplaced } from '../../read-models/collections.ts';
import {
  campaignProjection,
  couponProjection,
  customerProjection,
  orderProjection,
  reviewProjection,
  storeProjection,
} from './sales.ts';
import { categoryProjection, optionGroupProjection, productProjection } from './catalogue.ts';
import type { Changed, Projection, ProjectionContext } from './fields.ts';

export const projections: { [E in EntityName]: Projection<E> } = {
  store: storeProjection,
  coupon: couponProjection,
  customer: customerProjection,
  review: reviewProjection,
  campaign: campaignProjection,
  order: orderProjection,
  category: categoryProjection,
  product: productProjection,
  option_group: optionGroupProjection,
};

function projectionOf<E extends EntityName>({ entity }: { entity: E }): Projection<E> {
  return projections[entity];
}

/** Uses `EXACT` if local time does not show a date-time exactly: otherwise a new offset could not be applied to it. */
export function projectDocument(change: Change, context: ProjectionContext): Unplaced<ReadModelDocument> {
  const document = documentOf(change, context);
  const fields = document as object as Record<string, unknown>;
  const isExact = SHIFTED_FIELDS.every((field) => {
    const json = fields[field];
    return typeof json !== 'string' || isReversible(json);
  });
  return isExact ? document : documentOf(change, { ...context, offset: EXACT });
}

/** As `project`, always in the context's offset. */
export function documentOf(change: Change, context: ProjectionContext): Unplaced<ReadModelDocument> {
  const { storeId, id, sequence } = change;
  const fields = projectionOf(change).project(change as Changed<typeof change.entity>, context);
  return Object.assign(
    { _id: documentId(storeId, id), store_id: storeId, sequence, offset: context.offset },
    fields as Unplaced<ReadModelDocument>,
  );
}

export function customerNamedBy(change: Change): string | null {
  if (change.state === null) return null;
  return projectionOf(change).customerOf?.(change.state) ?? null;
}
