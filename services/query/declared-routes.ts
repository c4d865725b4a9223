/** The routes of the API. */
import type { Route } from './endpoints/data-endpoint.ts';
import { CHANGE_ROUTES } from './routes/changes.ts';
import { LIST_ROUTES } from './routes/lists.ts';
import { RECORD_ROUTES } from './routes/records.ts';
import { SERVICE_ROUTES } from './routes/service.ts';
import { TOKEN_ROUTE } from './routes/token.ts';

export const DECLARED_ROUTES: readonly Route[] = [
  TOKEN_ROUTE,
  ...RECORD_ROUTES,
  ...LIST_ROUTES,
  ...CHANGE_ROUTES,
  ...SERVICE_ROUTES,
];
