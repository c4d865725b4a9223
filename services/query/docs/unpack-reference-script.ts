/**
 * Program that writes Scalar's script, compressed, to its standard output (`index.ts` says why).
 */
import { constants, gzipSync } from 'node:zlib';
import scalar from '@scalar/fastify-api-reference';
import fastify from 'fastify';

const app = fastify();
await app.register(scalar, { routePrefix: '/', configuration: { content: {} } });
const { rawPayload } = await app.inject('/js/scalar.js');
process.stdout.write(gzipSync(rawPayload, { level: constants.Z_BEST_COMPRESSION }));
