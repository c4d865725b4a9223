import {
  type Change,
  connectStoreData,
  startStoreData,
  type StoreData,
} from 'store-data-api/testing';

const fixtures: Change[] = [{ entity: 'order', id: 'o1', data: {} }];
export const started: Promise<StoreData> = startStoreData({
  fixtures,
  settings: { QUOTA_REQUESTS: '7' },
});
export const connected = started.then(({ connection }) => connectStoreData(connection));
// @ts-expect-error -- there is no such entity
void startStoreData({ fixtures: [{ entity: 'invoice', id: 'i1' }] });
