/** The parameters of every list (rule R6.2). */
import { pageNumber, pageSize } from '../parameters/kinds.ts';
import { withDefault } from '../parameters/parameter.ts';

export const paging = {
  page: withDefault(pageNumber, 1, {
    description: 'The page to answer, from 1. Beyond the last one `results` is empty.',
  }),
  page_size: withDefault(pageSize, 20, {
    description:
      'How many records a page has. More than 100 counts as 100; the answer tells what was applied.',
  }),
};
