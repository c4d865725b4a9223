/**
 * Events that are costly to refuse, in one environment, do not delay revocations in another one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { encodeEvent, changesTopic } from '#shared/events/topics.ts';
import { lettersIn } from '#shared/read-models/collections.ts';
import { useInstallation, useMade } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { startService } from '#test/service-process.ts';

const POISON = 150;
const REVOCATIONS = 20;

const installation = useInstallation({ environments: 2 });
const projector = useMade(async () => {
  const process = startService('projector', installation.env);
  await process.logged(({ msg }) => msg === 'projector started');
  return {
    process,
    close: async () => {
      process.kill('SIGTERM');
      await process.ended;
    },
  };
});

it('revocations count while 150 orders of 195 kB without a total are refused in another environment', async () => {
  const [production = '', sandbox = ''] = installation.config.environments;
  const { keys } = controlCollections(installation.databases.control);
  const change = (index: number, status: 'active' | 'revoked') => ({
    entity: 'access_key' as const,
    storeId: 's1',
    subject: `k${index}`,
    sequence: status === 'active' ? 1 : 2,
    data: { secret_sha256: hashSecret('secret'), scopes: ['order'], status },
  });
  const names = Array.from({ length: REVOCATIONS }, (_, index) => index);
  await installation.publishAccess(
    names.map((index) => change(index, 'active')),
    production,
  );
  await eventually(
    'the keys are there',
    async () => (await keys.countDocuments({})) === REVOCATIONS,
  );
  const item = { product_id: 'p', name: 'x', quantity: 1, unit_price: '1.00', total: '1.00' };
  const items = Array.from({ length: 500 }, () => ({
    ...item,
    options: Array.from({ length: 100 }, () => ({})),
  }));
  const data = {
    status: 'pending',
    order_type: 'takeout',
    created_at: '2026-03-01T12:00:00Z',
    items,
  };
  const events = Array.from({ length: POISON }, (_, index) =>
    encodeEvent({
      source: '/test',
      entity: 'order',
      storeId: 's1',
      subject: `o${index}`,
      sequence: 1,
      data,
    }),
  );
  // A request may have 10 MiB.
  for (let at = 0; at < POISON; at += 30)
    await installation.send(changesTopic(sandbox), events.slice(at, at + 30));
  const delays: number[] = [];
  for (const index of names) {
    const began = performance.now();
    await installation.publishAccess([change(index, 'revoked')], production);
    await eventually(
      'it counts',
      async () => (await keys.countDocuments({ _id: `k${index}`, status: 'revoked' })) === 1,
    );
    delays.push(performance.now() - began);
    await sleep(50);
  }
  const letters = lettersIn(installation.databases.generation(sandbox, 1));
  await eventually('all are dead letters', async () => (await letters.countDocuments()) === POISON);
  const longest = Math.max(...delays);
  process.stdout.write(
    `the longest of ${REVOCATIONS} revocations took ${Math.round(longest)} ms\n`,
  );
  expect(longest).toBeLessThan(5_000);
  // Membership was never lost.
  const joins = projector.process.lines.filter(({ msg }) => msg === 'partitions are assigned');
  expect(joins.length).toBe(3 + 1);
});
