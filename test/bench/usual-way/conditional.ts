/** Conditional GET the usual way: the entity tag is a hash of the finished body. */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The hook before an answer is sent. */
export async function answerConditionally(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || reply.statusCode !== 200) return payload;
  const etag = `W/"${hash('sha1', payload, 'base64url')}"`;
  reply.header('etag', etag).header('cache-control', 'private, no-cache');
  if (request.headers['if-none-match'] !== etag) return payload;
  reply.code(304);
  return '';
}
