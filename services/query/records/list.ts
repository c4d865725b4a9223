/** The envelope of every list (rule R6.1). */
import { type TSchema, Type } from 'typebox';
import { as, record, Whole } from './fields.ts';

/** A page of records of one kind. */
export function listOf(type: TSchema & { title?: string; examples?: unknown }): TSchema {
  const { title, examples } = type;
  if (title === undefined || !Array.isArray(examples))
    throw new TypeError('records have a title and an example');
  const [example] = examples as unknown[];
  return record(
    `${title}List`,
    'One page of records, and how many there are on all pages.',
    {
      count: as(
        Whole,
        'How many records match the filters, on all pages: there are ceil(count / page_size) pages.',
      ),
      page: Type.Integer({ minimum: 1, description: 'The page that this is.' }),
      page_size: Type.Integer({
        minimum: 1,
        maximum: 100,
        description: 'How many records a page has at most; what was asked for, at most 100.',
      }),
      results: Type.Array(type, {
        maxItems: 100,
        description: 'The records of the page; empty beyond the last page.',
      }),
    },
    { count: 1, page: 1, page_size: 20, results: [example] },
  );
}
