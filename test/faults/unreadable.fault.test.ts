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
import { killAll, listening, startService } from '#test/service-process.ts';
import { expectRefused, runCommand, runJson } from '../services/admin/run-command.ts';
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

  it('stops only its partition, which continues after the repair; everything is applied once', async () => {
    const { installation, disturbed } = trial;
    const projector = trial.start();
    const { operations } = await listening(projector);
    /** The partitions that are unreadable, by the metrics, and why. */
    const shown = async () => {
      const text = await (await fetch(`${operations}/metrics`)).text();
      const lines = text.matchAll(/^store_data_partition_unreadable\{(.*)\} 1$/gm);
      return [...lines].map(([, labels = '']) =>
        ['partition', 'reason'].map((name) => new RegExp(`${name}="(\\w+)"`).exec(labels)?.[1]),
      );
    };
    const keys = installation.databases.control.collection<{ _id: string }>('access_keys');
    await trial.untilAdvanced();
    const [seen, others, repaired]: [number[], number[], number[]] = [[], [], []];
    for (const [reason, damage] of Object.entries(DAMAGES)) {
      await kafka.proxy.cut();
      await sleep(CUT_MS);
      const repair = await damageLast(kafka.logFile(changesTopic(disturbed), DAMAGED), damage);
      await kafka.proxy.restore();
      const began = performance.now();
      const isShown = async () => (await shown()).length > 0;
      const stopped = eventually(`${reason} is shown`, isShown, 60_000).then(() =>
        seen.push(performance.now() - began),
      );
      others.push(await trial.untilAdvanced(DAMAGED));
      await stopped;

      await installation.publishAccess([keyEvent(`key-${reason}`, 1)], disturbed);
      const isApplied = async () => (await keys.countDocuments({ _id: `key-${reason}` })) === 1;
      await eventually('access is applied', isApplied);
      await trial.untilAdvanced(DAMAGED);
      expect(await shown()).toEqual([[String(DAMAGED), reason]]);

      await repair();
      repaired.push(await trial.untilAdvanced());
      await eventually('it is shown no longer', async () => !(await isShown()));
      // Otherwise the next measurement would include the backlog of this one.
      await caughtUp(installation, disturbed);
    }
    await trial.conclude([
      {
        fault: 'damaged batch, until its metric shows it',
        recoveriesMs: seen,
        boundMs: 15_000,
      },
      {
        fault: 'damaged batch, until other partitions go on',
        recoveriesMs: others,
        boundMs: 15_000,
      },
      { fault: 'damaged batch, from its repair', recoveriesMs: repaired, boundMs: 40_000 },
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
    const skip = `dead-letters skip --topic ${topic} --partition 0 --offset 1 --yes`;
    await expectRefused(runCommand(installation.env, skip), 'give --to');
    const inside = runCommand(installation.env, `${skip} --to 2`);
    await expectRefused(inside, `the message at ${topic}/0/2 is intact`);
    expect(await runCommand(installation.env, `${skip} --to 1`)).toMatchObject({ code: 0 });
    await caughtUp(installation);
    type Listed = { dead_letters: { reason: string }[] };
    const listed = await runJson<Listed>(installation.env, 'dead-letters list');
    expect(listed.dead_letters.map(({ reason }) => reason)).toEqual([
      'malformed',
      'unreadable',
      'malformed',
      'malformed',
    ]);
  });
});
