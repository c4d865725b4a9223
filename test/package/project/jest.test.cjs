const { startStoreData } = require('store-data-api/testing');

test('Jest', async () => {
  const api = await startStoreData();
  expect(api.url).toMatch(/^http:/);
  await api.stop();
}, 120_000);
