/** The parameters of lists: paging, ranges of time, and the filters of orders and customers. */
import { ORDER_STATUSES, orderStatus } from '#shared/records/order.ts';
import { ORDER_TYPES, orderType } from '#shared/records/store.ts';
import {
  localDateTime,
  oneOf,
  optional,
  repeatable,
  searchText,
  wholeNumber,
  withDefault,
} from './parameter.ts';

const MAX_RECORDS = 100;

export const MAX_CHANGES = 1_000;
export const changesPageSize = wholeNumber(MAX_CHANGES);

/** The parameters of every list (rule R6.2). */
export const paging = {
  page: withDefault(wholeNumber(), 1, {
    description: 'The number of the page, from 1. Beyond the last page `results` is empty.',
  }),
  page_size: withDefault(wholeNumber(MAX_RECORDS), 20, {
    description:
      'How many records a page has. More than 100 counts as 100; the answer shows the applied size.',
  }),
};

const INCLUSIVE = 'Inclusive, in local store time, without a zone.';

/** The parameters that bound when a record was created. */
export const createdRange = {
  created_from: optional(localDateTime, {
    description: `Only records created at this second or later. ${INCLUSIVE}`,
    example: '2026-11-01T00:00:00',
  }),
  created_to: optional(localDateTime, {
    description: `Only records created at this second or earlier; not before \`created_from\`. ${INCLUSIVE}`,
    example: '2026-11-30T23:59:59',
  }),
};
/** What these windows are not for: a late event may carry any `updated_at`. */
const WINDOW =
  'A window of the publisher’s time (“what did they change yesterday”); to follow changes, use `/api/<kind>/changes`. ' +
  'A window of many thousand records takes longer than other lists.';

/** The parameters that bound when a record was updated. */
export const updatedRange = {
  updated_from: optional(localDateTime, {
    description: `Only records whose \`updated_at\` is this second or later. ${INCLUSIVE} ${WINDOW}`,
    example: '2026-11-20T18:00:00',
  }),
  updated_to: optional(localDateTime, {
    description: `Only records whose \`updated_at\` is this second or earlier; not before \`updated_from\`. ${INCLUSIVE} ${WINDOW}`,
    example: '2026-11-20T18:59:59',
  }),
};

export const orderFilters = {
  status: repeatable(oneOf(ORDER_STATUSES, orderStatus.answer), {
    description:
      'Only orders with this status. Repeat it for several: `status=pending&status=preparing`.',
  }),
  order_type: repeatable(oneOf(ORDER_TYPES, orderType.answer), {
    description: 'Only orders of this type. Repeat it for several.',
  }),
  ...createdRange,
  ...updatedRange,
};

export const customerFilters = {
  search: optional(searchText, {
    description:
      'Only customers whose name, document or phone holds this text. Names are compared without accents and letter ' +
      'case (ł, ø and ß are letters of their own), documents and phones by their digits, whatever their punctuation. ' +
      '1 to 100 characters; blanks at both ends are cut.',
    example: 'josé',
  }),
  ...createdRange,
  ...updatedRange,
};
