/** What makes a change feed: one declaration for each kind, with the scopes of its list (rule R10.1). */
import type { FastifyRequest } from 'fastify';
import type { EntityName } from '#shared/events/entities/index.ts';
import { callerOf } from '../access/steps.ts';
import { invalidParameters, Refused } from '../answers/refusal.ts';
import { dataRoute, sendBody } from '../data-endpoint.ts';
import { KINDS, type KindName, operationOn } from '../kinds.ts';
import { changes } from '../openapi/data-operation.ts';
import { cursor, paging, waitSeconds } from '../parameters/kinds.ts';
import { optional, withDefault } from '../parameters/parameter.ts';
import { type Cursor, decodeCursor } from './cursor.ts';
import { followChanges } from './follow.ts';
import type { FeedRequest } from './read.ts';

const parameters = {
  after: optional(cursor, {
    description:
      '`next` of the answer after which to go on. Without it the feed begins at the beginning: every record that is there, and no deletions from before.',
  }),
  page_size: paging.page_size,
  wait: withDefault(waitSeconds, 0, {
    description:
      'For how many seconds to hold the answer while there are no changes; above 30 counts as 30. It is answered as soon as something changes, and else with no results. `HEAD` does not wait.',
  }),
};

/** Makes the plugin of a kind's feed. */
export function changesEndpoint(entity: KindName) {
  const { scope, tag, summary } = KINDS[entity];
  const plural = tag.toLowerCase();
  const documentation = {
    operationId: operationOn('follow', entity),
    tag,
    summary: `Follow changes of ${plural}`,
    description: descriptionOf(plural),
    answer: changes(summary),
  };
  const path = `/${entity.replace('_', '-')}/changes`;
  return dataRoute(
    { path, scopes: [scope], parameters, documentation },
    'private, no-store',
    async (app, request, reply, { after, page_size: pageSize, wait }) => {
      const { environment } = callerOf(request);
      const feed: FeedRequest = {
        environment,
        entity,
        after: cursorIn(request, entity, after),
        pageSize,
      };
      const seconds = request.method === 'HEAD' ? 0 : wait;
      const body = await followChanges(app, { request, reply, feed, seconds, scopes: [scope] });
      // Nobody may be there any longer who could be answered.
      return body === null ? reply.hijack() : sendBody(reply, body);
    },
  );
}

/** @throws {Refused} for a cursor that is none, or one of another store, environment or kind. */
function cursorIn(request: FastifyRequest, entity: EntityName, text: string | null): Cursor | null {
  if (text === null) return null;
  const { environment, storeId } = callerOf(request);
  const found = decodeCursor({ environment, storeId, entity }, text);
  if (found === null) throw new Refused(invalidParameters(`after must be ${cursor.allowed}`));
  return found;
}

function descriptionOf(plural: string): string {
  return `
The ${plural} of the store that changed since \`after\`, each once, at its newest state, deletions too: in the order in which their last
changes took effect here, whatever times the publisher gave them.

Read from the beginning until \`more\` is \`false\`: that is a full copy. Then go on from \`next\`, which you store together with what
you made of the results. Whoever does so is told every record's last state and every deletion at least once, whatever happens
in between; after a rebuild or a restored backup on our side some are told again, so apply what you are told as it is,
also where you seem to have it.

With \`wait\` the answer comes as soon as something changes. Waiting counts toward the quota once.
`.trim();
}
