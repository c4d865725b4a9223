/** Every route of the API. */
import { changesEndpoint, storeChangesEndpoint } from '../endpoints/changes.ts';
import type { Route } from '../endpoints/route.ts';
import { ALL_KINDS } from '../feed/kinds.ts';
import { LISTS } from './lists.ts';
import { RECORDS } from './records.ts';
import { health, openApi } from './service.ts';
import { tokenRoute } from './token.ts';

export const ROUTES: readonly Route[] = [
  tokenRoute,
  ...RECORDS,
  ...LISTS,
  ...ALL_KINDS.map(changesEndpoint),
  storeChangesEndpoint(),
  health,
  openApi,
];
