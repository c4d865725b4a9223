/**
 * The state of each entity, as `store-data.<entity>.changed` carries it (rules R9.3 to R9.13,
 * R12.3).
 */
import { Type } from 'typebox';
import { RECORDS } from '../records/records.ts';
import { knownFields } from './fields.ts';

/** An option group's known fields, in bytes of UTF-8 as `JSON.stringify` writes them: 64 KiB. */
const OPTION_GROUP_BYTES = 65_536;

const OptionGroupState = RECORDS.option_group.event;

export const entitySchemas = {
  store: RECORDS.store.event,
  coupon: RECORDS.coupon.event,
  customer: RECORDS.customer.event,
  review: RECORDS.review.event,
  campaign: RECORDS.campaign.event,
  order: RECORDS.order.event,
  category: RECORDS.category.event,
  product: RECORDS.product.event,
  /** Its bound is one of all its texts together: products and the menu repeat their groups. */
  option_group: Type.Refine(
    OptionGroupState,
    (group) =>
      Buffer.byteLength(JSON.stringify(knownFields(OptionGroupState, group))) <= OPTION_GROUP_BYTES,
    () => `must not have more than ${OPTION_GROUP_BYTES} bytes (64 KiB) of known fields in JSON`,
  ),
} as const;

export type EntityStates = {
  [E in keyof typeof entitySchemas]: Type.Static<(typeof entitySchemas)[E]>;
};

export type EntityName = keyof EntityStates;

export const ENTITY_NAMES = Object.keys(entitySchemas) as EntityName[];
