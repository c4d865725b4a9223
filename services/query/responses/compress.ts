/** Compresses answers of data endpoints: the cheap way, and what requests share once for all of them. */
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  gzipSync,
} from 'node:zlib';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { encodingFor } from './static-content.ts';

type Compression = 'br' | 'gzip';

/** A smaller body leaves as it is. */
const MIN_BYTES = 1_025;
/** A larger one is compressed in a thread of its own. */
const MAX_SYNC_BYTES = 65_536;

/** The cheapest that still makes a page seven times as small; a small window is set up in half the time (decision 0080). */
const GZIP = { level: 2, windowBits: 13, memLevel: 7 };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
/** Of what is compressed at once: most results fit, and as usual 16 KiB would be allocated for each. */
const AT_ONCE = { chunkSize: 2_048 };
const GZIP_AT_ONCE = { ...GZIP, ...AT_ONCE };
const BROTLI_AT_ONCE = { ...BROTLI, ...AT_ONCE };

/** Of a body that several requests are answered with: what it was compressed to. In a weak map it would outlive the next collection. */
const COMPRESSED = Symbol('compressed');
interface Shared {
  [COMPRESSED]?: Map<Compression, Promise<Buffer> | Buffer>;
}

/** Marks a body that other requests are answered with as well. */
export function asShared(body: Buffer): Buffer {
  (body as Shared)[COMPRESSED] ??= new Map();
  return body;
}

/** Sends a body in the encoding that the client prefers. */
export async function sendCompressed(reply: FastifyReply, body: Buffer | Readable): Promise<FastifyReply> {
  reply.header('vary', 'accept-encoding');
  const { 'accept-encoding': accepted } = reply.request.headers;
  const isSmall = Buffer.isBuffer(body) && body.length < MIN_BYTES;
  const encoding = isSmall ? 'identity' : encodingFor(accepted === '*' ? 'gzip' : accepted, ['br', 'gzip', 'identity']);
  if (encoding === 'identity') return reply.send(body);
  reply.header('content-encoding', encoding);
  if (body instanceof Readable) {
    const stream = encoding === 'br' ? createBrotliCompress(BROTLI) : createGzip(GZIP);
    body.once('error', (error) => stream.destroy(error));
    stream.once('close', () => body.destroy());
    return reply.send(body.pipe(stream));
  }
  return reply.send(await compressed(body, encoding));
}

function compressed(body: Buffer, encoding: Compression): Promise<Buffer> | Buffer {
  const kept = (body as Shared)[COMPRESSED];
  const known = kept?.get(encoding);
  if (known !== undefined) return known;
  const made = compress(body, encoding);
  kept?.set(encoding, made);
  return made;
}

function compress(body: Buffer, encoding: Compression): Promise<Buffer> | Buffer {
  if (body.length <= MAX_SYNC_BYTES)
    return encoding === 'br' ? brotliCompressSync(body, BROTLI_AT_ONCE) : gzipSync(body, GZIP_AT_ONCE);
  return inThread(body, encoding);
}

/** No closure here may hold the body: what zlib calls back stays in memory until the next full collection, and `promisify` keeps arguments. */
function inThread(body: Buffer, encoding: Compression): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const done = (error: Error | null, made: Buffer) => (error === null ? resolve(made) : reject(error));
  if (encoding === 'br') brotliCompress(body, BROTLI, done);
  else gzip(body, GZIP, done);
  return promise;
}
