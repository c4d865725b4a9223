/** The usual implementation as a process, with the settings of the query service. */
import closeWithGrace from 'close-with-grace';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import { buildUsualWay } from './app.ts';
import { usualWayDatabase } from './documents.ts';

const config = readConfig(process.env);
const logger = createLogger('usual-way', config.logLevel);
const client = new MongoClient(config.mongodb.uri);
const redis = new Redis(config.redis.url, { enableAutoPipelining: true });
const app = await buildUsualWay({
  config,
  logger,
  signingKeys: await loadSigningKeys(config.tokens),
  db: usualWayDatabase(client, config.namePrefix),
  redis,
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
logger.info({ url }, 'the usual way started');
closeWithGrace(async () => {
  await app.close();
  await client.close();
  redis.disconnect();
});
