/** The parameters of every list (SPEC section 4). */
import { pageNumber, pageSize } from '../parameters/kinds.ts';
import { withDefault } from '../parameters/parameter.ts';

export const paging = { page: withDefault(pageNumber, 1), page_size: withDefault(pageSize, 20) };
