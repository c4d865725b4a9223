/** `store-data-api/testing`: see api.d.ts. */
export { connectStoreData } from './connect.ts';
export { startStoreData } from './start.ts';
