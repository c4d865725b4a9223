/** The change feed of each kind of record. */
import { changesEndpoint } from '../endpoints/changes.ts';
import { routePlugin } from '../endpoints/route.ts';
import { KINDS, type KindName } from '../records/kinds.ts';

export default routePlugin(Object.keys(KINDS).map((kind) => changesEndpoint(kind as KindName)));
