/** The query string as it was sent: the framework's own parser would guess types and drop what it does not know. */
import type { FastifyRequest } from 'fastify';

interface RawQuery {
  raw: string;
}

/** The app's query parser: it keeps the text whole for those who read it. */
export function keepQuery(raw: string): Record<string, unknown> {
  return { raw } satisfies RawQuery;
}

/** The query string of a request, without the `?`. */
export function queryOf(request: FastifyRequest): string {
  return (request.query as RawQuery).raw;
}
