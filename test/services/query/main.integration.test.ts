import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiClient } from '#test/api-client.ts';
import { createInstallation, type Installation } from '#test/installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation({ settings: { LOG_LEVEL: 'info' } });
});
afterAll(() => installation.close());

function run(change: Record<string, string> = {}) {
  const env = { PATH: process.env['PATH'], ...installation.env, ...change };
  const child = spawn(process.execPath, ['services/query/main.ts'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  return { child, errors: () => errors, exited: once(child, 'exit') };
}

async function started({ child }: ReturnType<typeof run>): Promise<{ url: string; operations: string }> {
  for await (const line of createInterface({ input: child.stdout })) {
    const entry = JSON.parse(line) as { msg: string; url: string; operations: string };
    if (entry.msg === 'query service started') return entry;
  }
  throw new Error('the service did not start');
}

describe('the process', () => {
  it('tells its addresses, serves, and ends in order on SIGTERM', async () => {
    const service = run();
    const { url, operations } = await started(service);
    const api = createApiClient(url);
    expect((await api.call('/health')).status).toBe(200);
    expect((await fetch(`${operations}/live`)).status).toBe(200);
    expect((await fetch(`${operations}/ready`)).status).toBe(200);
    const metrics = await (await fetch(`${operations}/metrics`)).text();
    expect(metrics).toContain(
      'store_data_request_seconds_count{route="/health",method="GET",status="200"} 1',
    );
    expect((await api.call('/metrics')).status).toBe(404);
    service.child.kill('SIGTERM');
    const [code] = (await service.exited) as [number | null];
    expect(code).toBe(0);
  });

  it('starts, is live and ready without Redis and MongoDB, and answers 503', async () => {
    const service = run({ REDIS_URL: 'redis://127.0.0.1:1', MONGODB_URI: 'mongodb://127.0.0.1:1' });
    try {
      const { url, operations } = await started(service);
      expect((await createApiClient(url).call('/health')).status).toBe(503);
      expect((await fetch(`${operations}/live`)).status).toBe(200);
      expect((await fetch(`${operations}/ready`)).status).toBe(200);
    } finally {
      service.child.kill('SIGTERM');
      await service.exited;
    }
  });

  it('refuses to start without signing keys or with a wrong setting, and says how to mend it', async () => {
    for (const [change, words] of [
      [{ SIGNING_KEYS: '' }, /SIGNING_KEYS_FILE/],
      [{ SIGNING_KEYS: '{"keys":[]}' }, /JWK set/],
      [{ QUOTA_REQUESTS: 'many' }, /QUOTA_REQUESTS/],
    ] as const) {
      const service = run(change);
      const [code] = (await service.exited) as [number | null];
      expect(code).toBe(1);
      expect(service.errors()).toMatch(words);
    }
  });
});
