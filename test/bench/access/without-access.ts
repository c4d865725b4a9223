/** The query service without access checks: every request has the same fixed caller. */
import closeWithGrace from 'close-with-grace';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { readConfig } from '#shared/config.ts';
import { SCOPES } from '#shared/events/access-event.ts';
import { createLogger } from '#shared/logging.ts';
import { buildApp } from '../../../services/query/app.ts';

const config = readConfig(process.env);
const [environment = ''] = config.environments;
const caller = {
  clientId: 'bench',
  storeId: process.env['BENCH_STORE'] ?? '',
  environment,
  scopes: SCOPES,
  quota: { allowed: true, limit: 1, windowSeconds: 1, remaining: 1, resetSeconds: 1 },
};
const logger = createLogger('without-access', config.logLevel);
const app = await buildApp({ config, logger, signingKeys: await loadSigningKeys(config.tokens) });
app.services.authenticate = async (request) => {
  request.caller = caller;
};
const url = await app.listen({ host: '127.0.0.1', port: 0 });
logger.info({ url }, 'without access started');
closeWithGrace(() => app.close());
