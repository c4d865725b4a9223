/** The projections: pure functions from an entity's state to its read-model document. */
import type { ChangeTo, Change } from '../../events/change.ts';
import type { EntityName, EntityStates } from '../../events/entities.ts';
import { checkedInstant } from '../../events/instant.ts';
import {
  type Documents,
  type Unplaced,
  documentId,
  type ReadModelDocument,
} from '../../read-models/collections.ts';
import { EXACT } from '../../read-models/local-time.ts';
import { isReversible, SHIFTED_FIELDS } from '../../records/stored-json.ts';
import type { Told } from '../../records/field.ts';
import type { RecordDescription } from '../../records/record.ts';
import { RECORDS } from '../../records/records.ts';
import { alphanumericOf, digitsOf, foldName } from '../../read-models/search-texts.ts';
import { nameKey, timeKey, orderFacet, reviewFacet } from '../../read-models/rank-tree/keys.ts';

const { store, customer, order, review, coupon, campaign, category, product } = RECORDS;

type ToldOf<E extends EntityName> = ChangeTo<E> & ProjectionContext & { state: EntityStates[E] };

export interface ProjectionContext {
  offset: string;
  /**
   * Whether the customer that the entity names was deleted: then their personal data is left out.
   */
  customerErased: boolean;
}

/** The fields of every document: its record and version, and the offset of its date-times. */
type CommonField = '_id' | 'store_id' | 'sequence' | 'offset';

const dateOf = (text: string) => new Date(checkedInstant(text));

/** When a state was updated: `updated_at`, else the event's own time (rule R12.4). */
function updatedAt({ state, time }: ToldOf<Exclude<EntityName, 'review' | 'option_group'>>) {
  return typeof state.updated_at === 'string' ? dateOf(state.updated_at) : new Date(time);
}

function members(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

function bodies({ summary, rest }: RecordDescription, told: Told) {
  const shown = summary(told);
  return { summary: JSON.stringify(shown), whole: JSON.stringify({ ...shown, ...rest(told) }) };
}

interface ShownOption {
  id: string;
  active: boolean;
  position: number;
}

/** Makes the fields of the document that not all documents have, but those by which lists are filtered. */
type Projection<E extends EntityName> = (
  told: ToldOf<E>,
) => Omit<Unplaced<Documents[E]>, CommonField>;

const projections: { [E in EntityName]: Projection<E> } = {
  store: (told) => ({
    status: told.state.status ?? 'active',
    created_at: dateOf(told.state.created_at),
    updated_at: updatedAt(told),
    summary: JSON.stringify(store.all(told)),
  }),

  customer(told) {
    const { id, state } = told;
    const document = state.document ?? '';
    return {
      rank_key: nameKey(foldName(state.name), id),
      created_key: timeKey(checkedInstant(state.created_at), id),
      document_digits: digitsOf(document),
      document_key: alphanumericOf(document),
      phone_digits: digitsOf(state.phone ?? ''),
      updated_at: updatedAt(told),
      summary: JSON.stringify(customer.all(told)),
    };
  },

  order(told) {
    const { id, state } = told;
    const { status, order_type } = state;
    const customer_id = customerNamedBy(told);
    const whole = {
      customer: order.fields.customer.show(state.customer, told),
      ...order.rest(told),
    };
    return {
      rank_key: timeKey(checkedInstant(state.created_at), id),
      facet: orderFacet({ status, order_type, customer_id }),
      customer_id,
      updated_at: updatedAt(told),
      summary: JSON.stringify(order.summary(told)),
      whole: JSON.stringify(whole),
    };
  },

  review: (told) => ({
    rank_key: timeKey(checkedInstant(told.state.created_at), told.id),
    facet: reviewFacet(told.state.rating),
    customer_id: customerNamedBy(told),
    ...bodies(review, told),
  }),

  coupon: (told) => ({ created_at: dateOf(told.state.created_at), ...bodies(coupon, told) }),

  campaign: (told) => ({ created_at: dateOf(told.state.created_at), ...bodies(campaign, told) }),

  category(told) {
    const { name, position, active } = told.state;
    return {
      name,
      position,
      active,
      updated_at: updatedAt(told),
      summary: JSON.stringify(category.summary(told)),
      dates: members(category.rest(told)),
    };
  },

  product(told) {
    const { name, position, active, category_id, option_group_ids } = told.state;
    const { option_group_ids: _groups, created_at, ...beforeGroups } = product.rest(told);
    return {
      name,
      position,
      active,
      category_id: category_id ?? '',
      option_group_ids: [...new Set(option_group_ids ?? [])],
      updated_at: updatedAt(told),
      summary: JSON.stringify(product.summary(told)),
      before_groups: members(beforeGroups),
      after_groups: members({ created_at }),
    };
  },

  option_group(told) {
    const group = RECORDS.option_group.all(told);
    const options = (group['options'] as ShownOption[]).sort(
      (a, b) => a.position - b.position || (a.id < b.id ? -1 : 1),
    );
    return {
      name_key: foldName(told.state.name),
      summary: JSON.stringify(group),
      active_summary: JSON.stringify({ ...group, options: options.filter(({ active }) => active) }),
    };
  },
};

function projectionOf<E extends EntityName>({ entity }: { entity: E }): Projection<E> {
  return projections[entity];
}

/**
 * Uses `EXACT` if local time does not show a date-time exactly: otherwise a new offset could not be
 * applied to it.
 */
export function projectDocument(
  change: Change,
  context: ProjectionContext,
): Unplaced<ReadModelDocument> {
  const document = documentOf(change, context);
  const fields = document as object as Record<string, unknown>;
  const isExact = SHIFTED_FIELDS.every((field) => {
    const json = fields[field];
    return typeof json !== 'string' || isReversible(json);
  });
  return isExact ? document : documentOf(change, { ...context, offset: EXACT });
}

/** As `project`, always in the context's offset. */
export function documentOf(
  change: Change,
  context: ProjectionContext,
): Unplaced<ReadModelDocument> {
  const { storeId, id, sequence } = change;
  const told = { ...change, ...context } as ToldOf<typeof change.entity>;
  return Object.assign(
    { _id: documentId(storeId, id), store_id: storeId, sequence, offset: context.offset },
    RECORDS[change.entity].filters(told),
    projectionOf(change)(told) as Unplaced<ReadModelDocument>,
  );
}

/** The customer whom an order or a review names. */
export function customerNamedBy({ entity, state }: Change): string | null {
  if (entity === 'order') return state?.customer?.id ?? null;
  return entity === 'review' ? (state?.customer_id ?? null) : null;
}
