/** The envelope of lists (rule R6.1). */
import { type TSchema, Type } from 'typebox';
import { described, record, Whole } from './fields.ts';

export type RecordSchema = TSchema & { title?: string; examples?: unknown };

/** The title and the example of a record. */
export function shown({ title, examples }: RecordSchema): { title: string; example: { id?: string } } {
  if (title === undefined || !Array.isArray(examples))
    throw new TypeError('records have a title and an example');
  return { title, example: examples[0] as { id?: string } };
}

/** A page of records of one kind. */
export function listOf(type: RecordSchema): TSchema {
  const { title, example } = shown(type);
  return record(
    `${title}List`,
    'One page of records, and how many there are on all pages.',
    {
      count: described(
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
