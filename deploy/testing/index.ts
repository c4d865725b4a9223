/** `store-data-api/testing`: see api.d.ts. */
export { connectStoreData } from './connect.ts';
export { FollowerNotProven, proveFollower } from './prove-follower.ts';
export { startStoreData } from './start.ts';
