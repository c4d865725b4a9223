import assert from 'node:assert';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import * as imported from 'store-data-api/testing';

const required = createRequire(import.meta.url)('store-data-api/testing');
const NAMES = ['FollowerNotProven', 'connectStoreData', 'proveFollower', 'startStoreData'];
const CATEGORY = { name: 'Pizzas', position: 1, active: true };

let api;
before(async () => {
  api = await imported.startStoreData({
    fixtures: [{ entity: 'category', id: 'c1', data: CATEGORY }],
  });
});
after(() => api?.stop());

for (const [way, module] of Object.entries({ imported, required })) {
  void test(`${way}: has everything`, () => {
    const names = Object.keys(module).filter(
      (name) => name !== 'default' && name !== 'module.exports',
    );
    assert.deepEqual(names.toSorted(), NAMES);
  });

  void test(`${way}: connects, publishes, and manages keys`, async () => {
    const other = await module.connectStoreData(JSON.parse(JSON.stringify(api.connection)));
    await other.publish([{ entity: 'category', id: `c-${way}`, data: CATEGORY }]);
    await other.settled();
    const key = await other.createKey({ storeId: 's1', scopes: ['menu'] });
    const headers = { authorization: `Bearer ${await other.token(key)}` };
    const list = () => fetch(`${other.url}/api/category/list`, { headers });
    const { results } = await (await list()).json();
    assert.ok(results.some(({ id }) => id === `c-${way}`));
    await other.revokeKey(key);
    assert.equal((await list()).status, 401);
    await other.stop();
  });
}

void test('a client that copies nothing is not proven', async () => {
  const nothing = [
    process.execPath,
    '--eval',
    'process.argv.includes("--print") || setInterval(() => {}, 1000)',
    '--',
  ];
  const proof = required.proveFollower({ command: nothing, changes: 30, patienceSeconds: 1, api });
  await assert.rejects(
    proof,
    (error) => error instanceof required.FollowerNotProven && error.report.missing.length > 0,
  );
});
