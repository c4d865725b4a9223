/**
 * The image and the Compose file on a Docker engine, if there is one: from an event to an answer by
 * three query services.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiClient, createApiClient } from '#test/api-client.ts';
import { orderMessage } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { times } from '#test/times.ts';
import { type Installed, installWithCompose, whyNoCompose } from './compose.ts';

const MINUTE = 60_000;
const reason = await whyNoCompose();
if (reason !== undefined)
  process.stderr.write(`skipped, the image and the Compose file: ${reason}\n`);

describe('the Compose file', { timeout: 5 * MINUTE }, () => {
  let installed: Installed;
  let api: ApiClient;
  let token: string;

  beforeAll(async () => {
    if (reason !== undefined) return;
    installed = await installWithCompose();
    api = createApiClient(installed.url);
    const key = 'keys create --environment production --store s1 --scopes order --json';
    const made = JSON.parse(await installed.admin(key)) as Record<string, string>;
    token = await api.token(made['client_id'] ?? '', made['client_secret'] ?? '');
  }, 15 * MINUTE);
  afterAll(() => installed?.remove(), 3 * MINUTE);
  beforeEach(({ skip }) => {
    if (reason !== undefined) skip(reason);
  });

  /** Fails unless the answer is 200. */
  const readOrders = () => api.list('/api/order/list', token);

  it('answers with events that were published to Kafka', async () => {
    await installed.admin('publish - --environment production', orderMessage('o1').value);
    await eventually('the order is in the list', async () =>
      (await readOrders()).results.some(({ id }) => id === 'o1'),
    );
  });

  it('balances requests over three query services, and loses none when one stops', async () => {
    const instances = await installed.containers('query');
    expect(instances).toHaveLength(3);
    const answered = async (id: string) => {
      const metrics = await installed.docker(['exec', id, 'node', '--eval', PRINT_METRICS]);
      return /store_data_request_seconds_count\{[^}]*order[^}]*\} [1-9]/.test(metrics);
    };
    await eventually('every one of them has answered', async () => {
      await Promise.all(times(12, readOrders));
      return (await Promise.all(instances.map(answered))).every(Boolean);
    });

    const stopping = installed.docker(['stop', instances[0] ?? '']).then(() => true);
    do await readOrders();
    while (!(await Promise.race([stopping, Promise.resolve(false)])));
    await readOrders();
  });

  it('limits memory, processor time and processes of every container', async () => {
    const ids = await installed.containers();
    const inspected = JSON.parse(await installed.docker(['inspect', ...ids])) as Inspected[];
    const unbounded = inspected.filter(({ HostConfig: { Memory, NanoCpus, PidsLimit } }) =>
      [Memory, NanoCpus, PidsLimit].some((limit) => !(Number(limit) > 0)),
    );
    expect(unbounded.map(({ Name }) => Name)).toEqual([]);
  });

  it('runs an image as a user without privileges, with a health check', async () => {
    const [{ Config }] = JSON.parse(
      await installed.docker(['image', 'inspect', installed.image]),
    ) as [{ Config: object }];
    expect(Config).toMatchObject({ User: '65532:65532' });
    const [query] = await installed.containers('query');
    const format = ['--format', '{{.State.Health.Status}}'];
    const health = await installed.docker(['inspect', ...format, query ?? '']);
    expect(health.trim()).toBe('healthy');
  });
});

const PRINT_METRICS = `fetch('http://127.0.0.1:9090/metrics').then((answer) => answer.text()).then(console.log)`;

interface Inspected {
  Name: string;
  HostConfig: { Memory?: number; NanoCpus?: number; PidsLimit?: number };
}
