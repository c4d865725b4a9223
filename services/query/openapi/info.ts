/** What the document says about the API as a whole. */
import { readFileSync } from 'node:fs';
import { SCOPES, type Scope } from '#shared/events/access-event.ts';
import { CLIENT_SCHEME } from './token-operation.ts';
import { TOKEN_SCHEME } from './data-operation.ts';
import { TOKEN_PATH } from '../answers/send.ts';

/** For those who have nothing else to read. */
const DESCRIPTION = readFileSync(new URL('./info.md', import.meta.url), 'utf8').trim();

/** Raised with every change that clients can notice. */
const VERSION = '1.0.0';

export const INFO = {
  title: 'Store Data API',
  version: VERSION,
  summary: 'Read-only access to the data of one store',
  description: DESCRIPTION,
  contact: { name: 'The operator who gave you your API key' },
  license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
};

const SCOPE_MEANINGS: Record<Scope, string> = {
  store: 'The store’s own record and its coupons.',
  crm: 'Customers, reviews and campaigns.',
  order: 'Orders.',
  menu: 'The menu, categories, products and option groups.',
};

export const SECURITY_SCHEMES = {
  [TOKEN_SCHEME]: {
    type: 'oauth2',
    description:
      'A short-lived bearer token, bound to one store and one environment: a JWT that follows RFC8725.',
    flows: {
      clientCredentials: {
        tokenUrl: TOKEN_PATH,
        scopes: Object.fromEntries(SCOPES.map((scope) => [scope, SCOPE_MEANINGS[scope]])),
      },
    },
  },
  [CLIENT_SCHEME]: {
    type: 'http',
    scheme: 'basic',
    description:
      'The key: `client_id` as the user, `client_secret` as the password. For the token endpoint alone.',
  },
};
