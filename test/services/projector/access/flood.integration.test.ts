/** Revocations do not wait for a flood of orders, at any instance. */
import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import type { ApiClient } from '#test/api-client.ts';
import { keyEvent, orderMessage } from '#test/events.ts';
import { generationDb } from '#test/generations.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { startApp } from '#test/query-service.ts';

const ORDERS = 100_000;
const BATCH = 10_000;
const ALLOWED_MS = 1_000;
/** The maximum number of attempts: one of them must be fast enough, even on a busy machine. */
const [AT_LEAST, MAX_TIMES] = [3, 12];

const service = useQueryService();
const other = useMade(() => startApp(service.installation.config));

/** Publishes the orders while no projector runs. */
async function flood(): Promise<void> {
  const { kafka, environment } = service.installation;
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const time = new Date('2026-01-01T00:00:00Z');
  for (let start = 0; start < ORDERS; start += BATCH) {
    const messages = Array.from({ length: BATCH }, (_, index) =>
      orderMessage(`o${start + index}`, { storeId: `s${index % 50}`, time }),
    );
    await producer.send({ topic: changesTopic(environment), messages });
  }
  await producer.disconnect();
}

/** The applied messages of the changes topic. */
async function applied(): Promise<number> {
  return generationDb(service.installation, 1).collection('orders').estimatedDocumentCount();
}

it('revocations take effect within a second, while 100,000 orders wait', async () => {
  const clients = Array.from({ length: MAX_TIMES }, (_, index) => `k${index}`);
  const tokens = new Map<string, string>();
  for (const clientId of clients) {
    tokens.set(clientId, await service.tokenOf({ clientId }));
  }
  await service.stopProjector();
  await flood();
  await service.startProjector();
  await eventually('the orders are being applied', async () => (await applied()) > 0);

  const took: number[] = [];
  for (const [index, clientId] of clients.entries()) {
    const token = tokens.get(clientId) ?? '';
    const start = performance.now();
    await service.installation.publishAccess([
      keyEvent(clientId, 1_000 + index, { status: 'inactive' }),
    ]);
    const isRefused = async (api: ApiClient) =>
      (await api.get('/api/order/list', token)).status === 401;
    const waits = [service, other].map(({ api }) =>
      eventually('the key is refused', () => isRefused(api)),
    );
    await Promise.all(waits);
    took.push(performance.now() - start);
    if (took.length >= AT_LEAST && Math.min(...took) < ALLOWED_MS) break;
  }
  const waiting = ORDERS - (await applied());
  process.stderr.write(
    `refused ${took.map((ms) => Math.round(ms)).join(', ')} ms after the event, ${waiting} orders still waiting\n`,
  );
  expect(waiting).toBeGreaterThan(0);
  // The fastest attempt: other tests keep the machine busy.
  expect(Math.min(...took)).toBeLessThan(ALLOWED_MS);
});
