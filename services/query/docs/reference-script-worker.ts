/** The thread that takes Scalar's script out of its package and compresses it (`reference-script.ts` says why). */
import { hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { constants, gzipSync } from 'node:zlib';
import scalar from '@scalar/fastify-api-reference';
import fastify from 'fastify';
import type { PackedScript } from './reference-script.ts';

const app = fastify();
await app.register(scalar, { routePrefix: '/', configuration: { content: {} } });
const { rawPayload } = await app.inject('/js/scalar.js');
// A copy with a buffer of its own, which can be handed over.
const gzipped = new Uint8Array(gzipSync(rawPayload, { level: constants.Z_BEST_COMPRESSION }));
const script: PackedScript = { gzipped, sha256: hash('sha256', rawPayload, 'base64url') };
parentPort?.postMessage(script, [gzipped.buffer]);
