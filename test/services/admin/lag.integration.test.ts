import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProjector } from '#projector/projector.ts';
import { createLogger } from '#shared/logging.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { runCommand, runJson, startCommand } from './run-command.ts';

interface LagAnswer {
  lag: number;
  partitions: { topic: string; partition: number; position: number | null; end: number; lag: number }[];
}

describe('lag', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await createInstallation({ partitions: 1, environments: 2 });
    const customer = { name: 'x', created_at: '2026-01-01T00:00:00Z' };
    await installation.publish(
      [1, 2, 3].map((id) => ({
        entity: 'customer',
        storeId: 's1',
        subject: `c${id}`,
        sequence: 1,
        data: customer,
      })),
    );
  });
  afterAll(() => installation?.close());

  it('is the whole log before a projector ran, and none after', async () => {
    const { environment } = installation;
    const args = ['lag', '-e', environment];
    expect(await runJson<LagAnswer>(installation.env, args)).toEqual({
      lag: 3,
      partitions: [
        {
          topic: `store-changes.${environment}`,
          partition: 0,
          position: null,
          end: 3,
          lag: 3,
          last_applied_at: null,
        },
        {
          topic: `store-access.${environment}`,
          partition: 0,
          position: null,
          end: 0,
          lag: 0,
          last_applied_at: null,
        },
      ],
    });
    const projector = await startProjector(installation.config, createLogger('test', 'silent'));
    try {
      await caughtUp(installation);
      expect(await runJson<LagAnswer>(installation.env, args)).toMatchObject({
        lag: 0,
        partitions: [{ position: 3, lag: 0, last_applied_at: expect.any(String) as string }, {}],
      });
    } finally {
      await projector.stop();
    }
  });

  it('has one row for each partition, and a total', async () => {
    const { code, stdout } = await runCommand(installation.env, ['lag']);
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^TOPIC +PARTITION +POSITION +END +LAG +LAST$/);
    expect(lines).toHaveLength(6);
    expect(lines.at(-1)).toMatch(/^total +\d+$/);
  });

  it('is watched until Ctrl-C, a line a second for programs', async () => {
    const { process: child, result } = startCommand(installation.env, ['lag', '--watch', '--json']);
    let seen = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString('utf8').split('\n').length - 1;
      if (seen >= 2) child.kill('SIGINT');
    });
    const { code, stdout } = await result;
    expect(code).toBe(0);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as LagAnswer);
    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(lines[0]?.partitions).toHaveLength(4);
  });

  it('names a topic that is missing', async () => {
    expect(await runCommand({ ...installation.env, ENVIRONMENTS: 'missing' }, ['lag'])).toMatchObject({
      code: 1,
      stderr: 'store-data: topic store-changes.missing does not exist\n',
    });
  });
});
