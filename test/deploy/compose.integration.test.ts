/**
 * The image and the Compose file on a Docker engine, if there is one: from an event to an answer by
 * three query services.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { orderMessage } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { type Installed, installWithCompose, whyNoCompose } from './compose.ts';

const MINUTE = 60_000;
const reason = await whyNoCompose();
if (reason !== undefined)
  process.stderr.write(`skipped, the image and the Compose file: ${reason}\n`);

interface Credentials {
  client_id: string;
  client_secret: string;
}

describe('the Compose file', { timeout: 5 * MINUTE }, () => {
  let installed: Installed;
  let credentials: Credentials;
  let token: string;

  beforeAll(async () => {
    if (reason !== undefined) return;
    installed = await installWithCompose();
    const key = 'keys create --environment production --store s1 --scopes order --json';
    credentials = JSON.parse(await installed.admin(key)) as Credentials;
    token = await getToken();
  }, 15 * MINUTE);
  afterAll(() => installed?.remove(), 3 * MINUTE);
  beforeEach(({ skip }) => {
    if (reason !== undefined) skip(reason);
  });

  async function getToken(): Promise<string> {
    const { client_id: id, client_secret: secret } = credentials;
    const response = await fetch(`${installed.url}/api/auth/token/`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    expect(response.status).toBe(200);
    return ((await response.json()) as { access_token: string }).access_token;
  }

  async function readOrders(): Promise<{ status: number; ids: string[] }> {
    const response = await fetch(`${installed.url}/api/order/list`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { results = [] } = (await response.json()) as { results?: { id: string }[] };
    return { status: response.status, ids: results.map(({ id }) => id) };
  }

  it('answers with events that were published to Kafka', async () => {
    await installed.admin('publish - --environment production', orderMessage('o1').value);
    await eventually('the order is in the list', async () =>
      (await readOrders()).ids.includes('o1'),
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
      await Promise.all(Array.from({ length: 12 }, readOrders));
      return (await Promise.all(instances.map(answered))).every(Boolean);
    });

    const stopping = installed.docker(['stop', instances[0] ?? '']).then(() => true);
    do expect(await readOrders()).toMatchObject({ status: 200 });
    while (!(await Promise.race([stopping, Promise.resolve(false)])));
    expect(await readOrders()).toMatchObject({ status: 200 });
  });

  it('limits memory, processor time and processes of every container', async () => {
    for (const id of await installed.containers()) {
      const [{ Name, HostConfig }] = JSON.parse(await installed.docker(['inspect', id])) as [
        Inspected,
      ];
      const { Memory, NanoCpus, PidsLimit } = HostConfig;
      const unbounded = [Memory, NanoCpus, PidsLimit].filter((limit) => !(Number(limit) > 0));
      expect([Name, unbounded]).toEqual([Name, []]);
    }
  });

  it('runs a labelled image as a user without privileges, with a health check', async () => {
    const [{ Config }] = JSON.parse(
      await installed.docker(['image', 'inspect', installed.image]),
    ) as [Inspected];
    expect(Config.User).toBe('65532:65532');
    expect(Config.Labels).toMatchObject({
      'org.opencontainers.image.title': 'Store Data API',
      'org.opencontainers.image.licenses': 'Apache-2.0',
    });
    const [query] = await installed.containers('query');
    const health = await installed.docker([
      'inspect',
      '--format',
      '{{.State.Health.Status}}',
      query ?? '',
    ]);
    expect(health.trim()).toBe('healthy');
  });
});

const PRINT_METRICS = `fetch('http://127.0.0.1:9090/metrics').then((answer) => answer.text()).then(console.log)`;

interface Inspected {
  Name: string;
  Config: { User: string; Labels: Record<string, string> };
  HostConfig: { Memory?: number; NanoCpus?: number; PidsLimit?: number };
}
