/** Content that changes with a release only: compressed once, not for each request. */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { conditionOf, names } from './etag.ts';

type Encoding = 'br' | 'gzip' | 'identity';

export interface StaticContent {
  type: string;
  etag: string;
  /** By encoding, the preferred one first. The last one is for clients that accept none of them. */
  bodies: ReadonlyMap<Encoding, Buffer>;
}

/** Makes it of bytes or a text. */
export async function staticContent(type: string, content: string | Buffer): Promise<StaticContent> {
  const body = Buffer.from(content);
  const [brotli, gzipped] = await Promise.all([promisify(brotliCompress)(body), promisify(gzip)(body)]);
  return {
    type,
    etag: etagOf(hash('sha256', body, 'base64url')),
    bodies: new Map([
      ['br', brotli],
      ['gzip', gzipped],
      ['identity', body],
    ]),
  };
}

/**
 * Makes it of large content that is compressed already. It is sent as it is, also to clients that do not ask for gzip: unpacked, one small
 * request would cost several megabytes. A client without `Accept-Encoding` accepts every encoding (RFC 9110 section 12.5.3).
 */
export function gzippedContent(type: string, gzipped: Buffer, sha256: string): StaticContent {
  return { type, etag: etagOf(sha256), bodies: new Map([['gzip', gzipped]]) };
}

/** Answers it in the encoding that a client prefers, or 304. */
export function sendStatic(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, etag, bodies }: StaticContent,
  cacheControl: string,
): FastifyReply {
  reply.header('cache-control', cacheControl).header('etag', etag).header('vary', 'accept-encoding');
  const condition = conditionOf(request.headers['if-none-match']);
  if (condition === '*' || names(condition, etag)) return reply.code(304).send();
  const encoding = encodingFor(request.headers['accept-encoding'], [...bodies.keys()]);
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.header('content-type', type).send(bodies.get(encoding));
}

/** Makes something when it is first asked for, and keeps it; what failed is tried again. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    }));
}

function etagOf(sha256: string): string {
  return `W/"${sha256.slice(0, 27)}"`;
}

/** The encoding that a client prefers; the last one where it does not say, or wants another. */
export function encodingFor<E extends Encoding>(
  accepted: string | string[] | undefined,
  encodings: E[],
): E | 'identity' {
  const preferred = typeof accepted === 'string' ? negotiate(accepted.toLowerCase(), encodings) : null;
  return preferred ?? encodings.at(-1) ?? 'identity';
}
