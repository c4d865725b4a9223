/** `X-Request-Id` on every answer, and the answers to errors, to paths that are not there and to methods that they don't have. */
import { closest } from 'fastest-levenshtein';
import plugin from 'fastify-plugin';
import { describeError, framesOf } from '#shared/errors.ts';
import { RepeatedLines } from '#shared/repeated-lines.ts';
import { REQUEST_ID_HEADER } from '#shared/request-id.ts';
import { classify } from '../answers/classify.ts';
import { pathOf } from '../answers/path.ts';
import { methodNotAllowed, notFound, type Refusal } from '../answers/refusal.ts';
import { sendRefusal } from '../answers/send.ts';
import type { RouteEntry } from '../types.ts';

export default plugin(
  async (app) => {
    const repeated = new RepeatedLines();
    app.setErrorHandler((error, request, reply) => {
      const refusal = classify(error);
      const about = {
        request_id: request.id,
        trace_id: request.span?.traceId,
        route: request.routeOptions.url,
      };
      // What else an error of a library has, such as a command's arguments, may be what a client sent.
      const told = { ...about, error: describeError(error) };
      if (refusal.status === 500) app.log.error({ ...told, stack: framesOf(error) }, 'a request failed');
      else if (refusal.status === 503) {
        const leftOut = repeated.say(told.error);
        if (leftOut !== null) app.log.warn({ ...told, left_out: leftOut || undefined }, 'unavailable');
      }
      return sendRefusal(request, reply, refusal);
    });

    app.addHook('onRequest', (request, reply, done) => {
      reply.header(REQUEST_ID_HEADER, request.id);
      done();
    });
    // In a hook, not as the not-found handler: before that one the framework would judge the content type.
    app.addHook('onRequest', (request, reply, done) => {
      if (!request.is404) {
        done();
        return;
      }
      const path = pathOf(request.raw.url);
      const allowed = app.routeTable.filter((route) => route.path === path).map(({ method }) => method);
      const refusal = allowed.length === 0 ? noSuchPath(path, app.routeTable) : methodNotAllowed(allowed);
      sendRefusal(request, reply, refusal);
    });
  },
  { name: 'errors', dependencies: ['routes-table'] },
);

/** A longer path is compared by its beginning. */
const COMPARED_LENGTH = 100;

/** Names the path of ours that is spelt most like it; pages for people are none that a program wants. */
export function noSuchPath(path: string, routes: readonly RouteEntry[]): Refusal {
  const paths = new Set(routes.filter(({ operation }) => operation !== null).map((route) => route.path));
  const nearest = closest(path.slice(0, COMPARED_LENGTH).toLowerCase(), [...paths]);
  return notFound(`there is nothing at this path; the nearest is ${nearest}`);
}
