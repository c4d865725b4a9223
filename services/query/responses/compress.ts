/**
 * Sends compressed answers. Data is compressed fast, and only once if requests share it; content
 * that changes with a release only is compressed well, once.
 */
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  gzipSync,
} from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply } from 'fastify';
import { conditionOf, names } from './etag.ts';

type Compression = 'br' | 'gzip';
type Encoding = Compression | 'identity';

/** A smaller body leaves as it is. */
const MIN_BYTES = 1_025;
/** A larger one is compressed in a thread of its own. */
const MAX_SYNC_BYTES = 65_536;

/**
 * The cheapest that still makes a page seven times as small; a small window is set up in half the
 * time (decision 0080).
 */
const GZIP = { level: 2, windowBits: 13, memLevel: 7 };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
/** For synchronous compression: most results fit, and Node would allocate 16 KiB for each. */
const AT_ONCE = { chunkSize: 2_048 };
const GZIP_AT_ONCE = { ...GZIP, ...AT_ONCE };
const BROTLI_AT_ONCE = { ...BROTLI, ...AT_ONCE };

/**
 * The compressed forms of a body that several requests get. A weak map would keep them longer than
 * the next collection.
 */
const COMPRESSED = Symbol('compressed');
interface Shared {
  [COMPRESSED]?: Map<Compression, Promise<Buffer> | Buffer>;
}

export function asShared(body: Buffer): Buffer {
  (body as Shared)[COMPRESSED] ??= new Map();
  return body;
}

export async function sendCompressed(
  reply: FastifyReply,
  body: Buffer | Readable,
): Promise<FastifyReply> {
  reply.header('vary', 'accept-encoding');
  const { 'accept-encoding': accepted } = reply.request.headers;
  const isSmall = Buffer.isBuffer(body) && body.length < MIN_BYTES;
  const encoding = isSmall
    ? 'identity'
    : encodingFor(accepted === '*' ? 'gzip' : accepted, ['br', 'gzip', 'identity']);
  if (encoding === 'identity') return reply.send(body);
  reply.header('content-encoding', encoding);
  if (body instanceof Readable) {
    const stream = encoding === 'br' ? createBrotliCompress(BROTLI) : createGzip(GZIP);
    body.once('error', (error) => stream.destroy(error));
    stream.once('close', () => body.destroy());
    return reply.send(body.pipe(stream));
  }
  return reply.send(await compressOnce(body, encoding));
}

function compressOnce(body: Buffer, encoding: Compression): Promise<Buffer> | Buffer {
  const kept = (body as Shared)[COMPRESSED];
  const known = kept?.get(encoding);
  if (known !== undefined) return known;
  const made = compress(body, encoding);
  kept?.set(encoding, made);
  if (made instanceof Promise) made.catch(() => kept?.delete(encoding));
  return made;
}

function compress(body: Buffer, encoding: Compression): Promise<Buffer> | Buffer {
  if (body.length <= MAX_SYNC_BYTES)
    return encoding === 'br'
      ? brotliCompressSync(body, BROTLI_AT_ONCE)
      : gzipSync(body, GZIP_AT_ONCE);
  return inThread(body, encoding);
}

/**
 * No closure here may hold the body: zlib keeps its callback until the next full collection, and
 * `promisify` keeps the arguments.
 */
function inThread(body: Buffer, encoding: Compression): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const done = (error: Error | null, made: Buffer) =>
    error === null ? resolve(made) : reject(error);
  if (encoding === 'br') brotliCompress(body, BROTLI, done);
  else gzip(body, GZIP, done);
  return promise;
}

export interface StaticContent {
  type: string;
  etag: string;
  /** By encoding, the preferred one first. Clients that accept none of them get the last one. */
  bodies: ReadonlyMap<Encoding, Buffer>;
}

export async function staticContent(
  type: string,
  content: string | Buffer,
): Promise<StaticContent> {
  const body = Buffer.from(content);
  const [brotli, gzipped] = await Promise.all([
    promisify(brotliCompress)(body),
    promisify(gzip)(body),
  ]);
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
 * Large content that is already compressed. It is also sent to clients that do not ask for gzip:
 * unpacked, one small request would cost several megabytes. A client without `Accept-Encoding`
 * accepts every encoding (RFC 9110 section 12.5.3).
 */
export function gzippedContent(type: string, gzipped: Buffer, sha256: string): StaticContent {
  return { type, etag: etagOf(sha256), bodies: new Map([['gzip', gzipped]]) };
}

/** Answers in the encoding that the client prefers, or 304. */
export function sendStatic(
  reply: FastifyReply,
  { type, etag, bodies }: StaticContent,
  cacheControl: string,
): FastifyReply {
  reply
    .header('cache-control', cacheControl)
    .header('etag', etag)
    .header('vary', 'accept-encoding');
  const { headers } = reply.request;
  const condition = conditionOf(headers['if-none-match']);
  if (condition === '*' || names(condition, etag)) return reply.code(304).send();
  const encoding = encodingFor(headers['accept-encoding'], [...bodies.keys()]);
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.header('content-type', type).send(bodies.get(encoding));
}

function etagOf(sha256: string): string {
  return `W/"${sha256.slice(0, 27)}"`;
}

/** The encoding that a client prefers; the last one if it names none of these. */
function encodingFor<E extends Encoding>(
  accepted: string | string[] | undefined,
  encodings: E[],
): E | 'identity' {
  const header = typeof accepted === 'string' ? accepted.toLowerCase() : '';
  // `*` is an encoding that the header does not name (RFC 9110 section 12.5.3); `negotiate` takes
  // the first, even if it is refused.
  const unnamed = encodings.find((encoding) => !header.includes(encoding)) ?? 'none';
  return negotiate(header.replace('*', unnamed), encodings) ?? encodings.at(-1) ?? 'identity';
}
