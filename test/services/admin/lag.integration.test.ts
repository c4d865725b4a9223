import { beforeAll, describe, expect, it } from 'vitest';
import { checkpointsIn } from '#shared/projection/slice/checkpoint.ts';
import { useInstallation } from '#test/hooks.ts';
import { orderEvent } from '#test/events.ts';
import { generationDb } from '#test/generations.ts';
import { applyAll } from '#test/projectors.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

describe('lag', () => {
  const installation = useInstallation({ partitions: 1, environments: 2 });
  beforeAll(async () => {
    await installation.publish(['o1', 'o2', 'o3'].map((id) => orderEvent(id)));
  });

  it('is the whole log before a projector ran, and 0 after', async () => {
    const { environment } = installation;
    const lag = () => runJson(installation.env, `lag -e ${environment}`);
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
    const { env, environment } = installation;
    const topic = `store-changes.${environment}`;
    const checkpoints = checkpointsIn(generationDb(installation, 1));
    const place = (position: number) => checkpoints.updateOne({ topic }, { $set: { position } });
    await place(1_000);
    const shown = await runCommand(env, `lag -e ${environment}`);
    expect(shown).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^total +unknown$/m) as string,
    });
    expect(shown.stderr).toContain(`the lag is unknown: the log of ${topic}/0 ends before`);
    const listed = await runJson(env, `generations list -e ${environment}`);
    expect(listed).toMatchObject({ generations: [{ lag: null }] });
    await place(3);
    const again = await runCommand(env, `lag -e ${environment}`);
    expect(again).toMatchObject({ code: 0, stderr: '' });
  });

  it('names a missing topic', async () => {
    await expectRefused(
      runCommand({ ...installation.env, ENVIRONMENTS: 'missing' }, 'lag'),
      'store-data: topic store-changes.missing does not exist\n',
    );
  });
});
