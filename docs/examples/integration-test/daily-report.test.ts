/** The program against a real API: what is published here can be read when `publish` is done. */
import { connectStoreData, type Key, type StoreData } from 'store-data-api/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { dailyReport } from './daily-report.ts';
import { order } from './fixtures.ts';

let api: StoreData;
let key: Key;

beforeAll(async () => {
  api = await connectStoreData(inject('storeData'));
  key = await api.createKey({ scopes: ['order'] });
});
afterAll(() => api.stop());

it('adds up the concluded orders of a day', async () => {
  const token = await api.token(key);
  expect(await dailyReport(api.url, token, '2026-03-02')).toEqual({ orders: 2, total: '60.00' });
});

it('counts an order from the moment it is concluded, and a deleted one no longer', async () => {
  const token = await api.token(key);
  await api.publish([order('o4', 'delivered', '10.00')]);
  expect(await dailyReport(api.url, token, '2026-03-02')).toEqual({ orders: 2, total: '60.00' });

  await api.publish([order('o4', 'concluded', '10.00')]);
  expect(await dailyReport(api.url, token, '2026-03-02')).toEqual({ orders: 3, total: '70.00' });

  await api.publish([{ entity: 'order', id: 'o4' }]);
  expect(await dailyReport(api.url, token, '2026-03-02')).toEqual({ orders: 2, total: '60.00' });
});

it('says so when its key was revoked', async () => {
  const revoked = await api.createKey();
  const token = await api.token(revoked);
  await api.revokeKey(revoked);
  await expect(dailyReport(api.url, token, '2026-03-02')).rejects.toThrow('401');
});
