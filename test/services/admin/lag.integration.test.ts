import { beforeAll, describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { orderEvent } from '#test/events.ts';
import { applyAll } from '#test/projectors.ts';
import { runCommand, runJson } from './run-command.ts';

interface LagAnswer {
  lag: number | null;
  partitions: {
    topic: string;
    partition: number;
    position: number | null;
    end: number;
    lag: number;
  }[];
}

describe('lag', () => {
  const installation = useInstallation({ partitions: 1, environments: 2 });
  beforeAll(async () => {
    await installation.publish(['o1', 'o2', 'o3'].map((id) => orderEvent(id)));
  });

  it('is the whole log before a projector ran, and 0 after', async () => {
    const { environment } = installation;
    const lag = () => runJson<LagAnswer>(installation.env, `lag -e ${environment}`);
    expect(await lag()).toMatchObject({
      lag: 3,
      partitions: [
        { position: null, topic: `store-changes.${environment}`, end: 3, lag: 3, open: 0 },
        { position: null, topic: `store-access.${environment}`, end: 0, lag: 0, open: 0 },
      ],
    });
    await applyAll(installation);
    expect(await lag()).toMatchObject({
      lag: 0,
      partitions: [{ position: 3, lag: 0, last_applied_at: expect.any(String) as string }, {}],
    });
  });

  it('is unknown, and not 0, where a log ends before what was applied', async () => {
    await applyAll(installation);
    const { environment, databases } = installation;
    const topic = `store-changes.${environment}`;
    const checkpoints = databases
      .generation(environment, 1)
      .collection<{ topic: string; position: number }>('checkpoints');
    const applied = await checkpoints.findOne({ topic });
    await checkpoints.updateOne({ topic }, { $set: { position: 1_000 } });
    const args = ['lag', '-e', environment];
    const shown = await runCommand(installation.env, args);
    expect(shown.code).toBe(1);
    expect(shown.stderr).toMatch(
      new RegExp(`^store-data: the lag is unknown: the log of ${topic}/0 ends before`),
    );
    expect(shown.stdout).toMatch(/^total +unknown$/m);
    const { generations } = await runJson<{ generations: { lag: number | null }[] }>(
      installation.env,
      ['generations', 'list', '-e', environment],
    );
    expect(generations.map(({ lag }) => lag)).toEqual([null]);
    await checkpoints.updateOne({ topic }, { $set: { position: applied?.position ?? 0 } });
    expect(await runCommand(installation.env, args)).toMatchObject({ code: 0, stderr: '' });
  });

  it('names a missing topic', async () => {
    expect(await runCommand({ ...installation.env, ENVIRONMENTS: 'missing' }, 'lag')).toMatchObject(
      {
        code: 1,
        stderr: 'store-data: topic store-changes.missing does not exist\n',
      },
    );
  });
});
