/**
 * The comparison for tokens: oidc-provider with client credentials, JWT access tokens of the same
 * algorithm, lifetime and scopes, and its in-memory store. It stores no tokens, so that it cannot
 * revoke them.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import closeWithGrace from 'close-with-grace';
import { type JWKS, Provider } from 'oidc-provider';
import { readConfig } from '#shared/config.ts';
import { SCOPES } from '#shared/events/access-event.ts';
import { createLogger } from '#shared/logging.ts';

const SCOPE = SCOPES.join(' ');
const RESOURCE = 'urn:store-data-api';

const { tokens } = readConfig(process.env);
const logger = createLogger('oidc-provider', 'info');
const clients = JSON.parse(process.env['BENCH_CLIENTS'] ?? '[]') as {
  clientId: string;
  secret: string;
}[];
const server = createServer();
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const url = `http://127.0.0.1:${port}`;
const provider = new Provider(url, {
  jwks: JSON.parse(tokens.signingKeys ?? '') as JWKS,
  clients: clients.map(({ clientId, secret }) => ({
    client_id: clientId,
    client_secret: secret,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    scope: SCOPE,
    id_token_signed_response_alg: 'ES256',
  })),
  scopes: [...SCOPES],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      getResourceServerInfo: () => ({
        scope: SCOPE,
        audience: tokens.audience,
        accessTokenTTL: tokens.lifetimeSeconds,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
});
const answer = provider.callback();
server.on('request', (request, response) => void answer(request, response));
logger.info({ url }, 'oidc-provider started');
closeWithGrace(async () => {
  server.close();
  server.closeAllConnections();
});
