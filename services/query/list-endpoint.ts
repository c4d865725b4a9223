/** What makes the endpoint of a kind's list: its filters, and what they ask of the list. */
import { dataEndpoint } from './data-endpoint.ts';
import { KINDS, type KindName, operationOn } from './kinds.ts';
import { type Link, page } from './openapi/data-operation.ts';
import { paging } from './parameters/kinds.ts';
import type { Parameters, Values } from './parameters/parameter.ts';
import { listRequest, type Wanted } from './reading/list-request.ts';
import { readList } from './reading/lists.ts';
import type { View } from './reading/shared-reads.ts';

export interface ListEndpoint<P extends Parameters> {
  description: string;
  /** Besides those of paging. */
  filters: P;
  links?: readonly Link[];
  /** The kinds that the order of the list depends on, besides its own. */
  ordered?: readonly KindName[];
  /** What is asked for but the page. */
  ask: (values: Values<P>, view: View) => Wanted;
}

/** Makes the plugin of a route file. */
export function listEndpoint<P extends Parameters>(
  kind: KindName,
  { description, filters, links = [], ordered = [], ask }: ListEndpoint<P>,
) {
  const { scope, tag, summary } = KINDS[kind];
  return dataEndpoint({
    path: '/list',
    scopes: [scope],
    parameters: { ...paging, ...filters },
    documentation: {
      operationId: operationOn('list', kind),
      tag,
      summary: `List ${tag.toLowerCase()}`,
      description,
      answer: page(summary),
      links,
    },
    shows: [kind, ...ordered],
    read: (view, values) => {
      const { page, page_size: pageSize } = values as Values<typeof paging>;
      return readList(view, listRequest({ entity: kind, ...ask(values, view), page, pageSize }));
    },
  });
}
