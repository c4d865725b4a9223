/** Revocations do not wait behind a flood of orders, at any instance. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeEvent } from '#shared/events/encode.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { eventually } from '#test/installation.ts';
import { type QueryService, type RunningApp, startApp, startQueryService } from '#test/query-service.ts';

const ORDERS = 100_000;
const BATCH = 10_000;
const ALLOWED_MS = 1_000;
/** How often it is tried: on a busy machine, until it was quick once. */
const [AT_LEAST, MAX_TIMES] = [3, 12];

let service: QueryService;
let other: RunningApp;
beforeAll(async () => {
  service = await startQueryService();
  other = await startApp(service.installation.config);
});
afterAll(async () => {
  await other?.app.close();
  await service?.close();
});

/** Publishes the orders while nobody applies them. */
async function flood(): Promise<void> {
  const { kafka, environment } = service.installation;
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const data = {
    status: 'pending',
    order_type: 'delivery',
    total: '1.00',
    created_at: '2026-01-01T00:00:00Z',
  };
  const time = new Date('2026-01-01T00:00:00Z');
  for (let start = 0; start < ORDERS; start += BATCH) {
    const messages = Array.from({ length: BATCH }, (_, index) =>
      encodeEvent({
        source: '/test',
        entity: 'order',
        storeId: `s${index % 50}`,
        subject: `o${start + index}`,
        sequence: 1,
        time,
        data,
      }),
    );
    await producer.send({ topic: changesTopic(environment), messages });
  }
  await producer.disconnect();
}

/** Of the topic of changes, how many are applied. */
async function applied(): Promise<number> {
  const { mongodb, config, environment } = service.installation;
  const orders = mongodb.db(`${config.namePrefix}_${environment}_g1`).collection('orders');
  return orders.estimatedDocumentCount();
}

it('within a second, while 100,000 orders wait', async () => {
  const clients = Array.from({ length: MAX_TIMES }, (_, index) => `k${index}`);
  const tokens = new Map<string, string>();
  for (const clientId of clients) {
    await service.setKey({ clientId });
    tokens.set(clientId, await service.api.token(clientId, 'secret'));
  }
  await service.stopProjector();
  await flood();
  await service.startProjector();
  await eventually('the orders are being applied', async () => (await applied()) > 0);

  const took: number[] = [];
  for (const [index, clientId] of clients.entries()) {
    const token = tokens.get(clientId) ?? '';
    const data = { secret_sha256: '0'.repeat(64), scopes: ['order'], status: 'inactive' };
    const start = performance.now();
    await service.installation.publishAccess([
      { entity: 'access_key', storeId: 's1', subject: clientId, sequence: 1_000 + index, data },
    ]);
    await Promise.all(
      [service, other].map(({ api }) =>
        eventually(
          `${clientId} is refused`,
          async () => (await api.get('/api/order/list', token)).status === 401,
        ),
      ),
    );
    took.push(performance.now() - start);
    if (took.length >= AT_LEAST && Math.min(...took) < ALLOWED_MS) break;
  }
  const waiting = ORDERS - (await applied());
  process.stderr.write(
    `refused ${took.map((ms) => Math.round(ms)).join(', ')} ms after the event, ${waiting} orders still waiting\n`,
  );
  expect(waiting).toBeGreaterThan(0);
  // The quickest: other tests keep the machine busy, which no flood of orders does.
  expect(Math.min(...took)).toBeLessThan(ALLOWED_MS);
});
