import assert from 'node:assert';
import { test } from 'node:test';
import { startStoreData } from 'store-data-api/testing';

void test('node:test', async () => {
  const api = await startStoreData();
  assert.match(api.url, /^http:/);
  await api.stop();
});
