import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { batchHeader } from '#shared/kafka/record-batch.ts';
import { keyEvent } from '#test/events.ts';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { killAll, type ServiceProcess, startService } from '#test/service-process.ts';
import { runCommand, runJson } from '../services/admin/run-command.ts';
import { damageLast, DAMAGES } from './servers/damaged-log.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';
import { startTrial } from './trial.ts';

const PARTITIONS = 3;
/** The partition whose log is damaged. */
const DAMAGED = PARTITIONS - 1;
/** The projector is cut off for this time, so that it has not yet read the damaged batch. */
const CUT_MS = 1_500;
/** The position of the length field in a batch. */
const LENGTH_AT = 8;

describe('a damaged record batch', () => {
  const kafka = useMade(() => startKafkaCluster(1));
  const trial = useMade(() =>
    startTrial({
      partitions: PARTITIONS,
      settings: { KAFKA_BROKERS: kafka.brokers },
      disturbedSettings: { KAFKA_BROKERS: kafka.proxied },
    }),
  );

  /** The reasons that the projector reports for its partitions. */
  const shown = async (projector: ServiceProcess) => {
    const { operations } = await projector.logged(({ msg }) => msg === 'projector started');
    const answer = await fetch(`${String(operations)}/metrics`);
    return (await answer.text())
      .split('\n')
      .filter((line) => line.startsWith('store_data_partition_unreadable{') && line.endsWith(' 1'))
      .map((line) => `${/partition="(\d+)"/.exec(line)?.[1]} ${/reason="(\w+)"/.exec(line)?.[1]}`);
  };
  const accessKeys = () =>
    trial.installation.databases.control.collection('access_keys').countDocuments();

  it('stops only its partition, which continues after the repair; everything is applied once', async () => {
    const { installation, disturbed } = trial;
    const projector = trial.start();
    await trial.untilAdvanced();
    const [seen, others, repaired]: number[][] = [[], [], []];
    for (const [reason, damage] of Object.entries(DAMAGES)) {
      await kafka.proxy.cut();
      await sleep(CUT_MS);
      const repair = await damageLast(kafka.logFile(changesTopic(disturbed), DAMAGED), damage);
      await kafka.proxy.restore();
      const began = performance.now();
      const stopped = eventually(
        `${reason} is shown`,
        async () => (await shown(projector)).includes(`${DAMAGED} ${reason}`),
        60_000,
      ).then(() => seen?.push(performance.now() - began));
      others?.push(await trial.untilAdvanced(DAMAGED));
      await stopped;

      const keys = await accessKeys();
      await installation.publishAccess([keyEvent(`key-${reason}`, 1)], disturbed);
      await eventually('access is applied', async () => (await accessKeys()) > keys);
      await trial.untilAdvanced(DAMAGED);
      expect(await shown(projector)).toEqual([`${DAMAGED} ${reason}`]);

      await repair();
      repaired?.push(await trial.untilAdvanced());
      await eventually('it is shown no longer', async () => (await shown(projector)).length === 0);
      // Otherwise the next measurement would include the backlog of this one.
      await caughtUp(installation, disturbed);
    }
    await trial.conclude([
      {
        fault: 'damaged batch, until its metric shows it',
        recoveriesMs: seen ?? [],
        boundMs: 15_000,
      },
      {
        fault: 'damaged batch, until other partitions go on',
        recoveriesMs: others ?? [],
        boundMs: 15_000,
      },
      { fault: 'damaged batch, from its repair', recoveriesMs: repaired ?? [], boundMs: 40_000 },
    ]);
  });
});

describe('a record batch whose length is destroyed', () => {
  const kafka = useMade(() => startKafkaCluster(1));
  const installation = useMade(() =>
    createInstallation({ partitions: 1, settings: { KAFKA_BROKERS: kafka.brokers } }),
  );

  it('can be skipped up to an offset that the log has, even an unreadable one', async () => {
    const topic = changesTopic(installation.environment);
    // Each batch has an index entry, by which the broker finds it without reading earlier ones.
    for (let offset = 0; offset < 4; offset += 1) {
      await installation.send(topic, [{ key: 's1', value: 'no event'.repeat(1_000) }]);
    }
    const log = await open(kafka.logFile(topic, 0), 'r+');
    const { bytes = 0 } = batchHeader(await log.readFile(), 0) ?? {};
    await log.write(Buffer.from([0, 0, 0, 20]), 0, 4, bytes + LENGTH_AT);
    await log.close();
    const projector = startService('projector', installation.env);
    onTestFinished(() => killAll([projector]));
    await projector.logged(({ level }) => level === 60);
    const place = ['--topic', topic, '--partition', '0', '--offset', '1', '--yes'];
    const skip = (...to: string[]) =>
      runCommand(installation.env, ['dead-letters', 'skip', ...place, ...to]);
    const refusals: Record<string, string[]> = {
      'give --to': [],
      'the log ends with 3: --to is beyond it': ['--to', '4'],
      [`the message at ${topic}/0/2 is intact`]: ['--to', '2'],
    };
    for (const [why, to] of Object.entries(refusals)) {
      expect(await skip(...to)).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
    }
    expect(await skip('--to', '1')).toMatchObject({ code: 0 });
    await caughtUp(installation);
    type Listed = { dead_letters: { id: string; reason: string }[] };
    const listed = await runJson<Listed>(installation.env, 'dead-letters list');
    expect(listed.dead_letters.map(({ id, reason }) => [id, reason])).toEqual([
      [`${topic}/0/0`, 'malformed'],
      [`${topic}/0/1`, 'unreadable'],
      [`${topic}/0/2`, 'malformed'],
      [`${topic}/0/3`, 'malformed'],
    ]);
  });
});
