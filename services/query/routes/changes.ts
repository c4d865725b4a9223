/** The change feeds: of each kind of records, and of several. */
import { changesEndpoint, storeChangesEndpoint } from '../endpoints/changes.ts';
import { routePlugin } from '../endpoints/route.ts';
import { ALL_KINDS } from '../feed/kinds.ts';

export default routePlugin([...ALL_KINDS.map(changesEndpoint), storeChangesEndpoint()]);
