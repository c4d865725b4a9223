/**
 * With more brokers than partitions kafkajs sends heartbeats for a member whose work is blocked.
 * Its partition must move anyway.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startMongodbProxy } from '#test/server-proxies.ts';
import type { LogLine, ServiceProcess } from '#test/service-process.ts';
import type { TcpProxy } from '#test/tcp-proxy.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';
import { SESSION_TIMEOUT_MS, startTrial } from './trial.ts';

const isAssignment = ({ msg, topic }: LogLine) =>
  msg === 'partitions are assigned' && String(topic).startsWith('store-changes');

describe('two projectors of one partition on three brokers, whose owner is blocked', () => {
  const projectors: (ServiceProcess & { mongodb: TcpProxy })[] = [];
  afterAll(() => Promise.all(projectors.map(({ mongodb }) => mongodb.close())));
  const kafka = useMade(() => startKafkaCluster(3));
  const trial = useMade(() =>
    startTrial({ partitions: 1, settings: { KAFKA_BROKERS: kafka.brokers } }),
  );
  beforeAll(async () => {
    while (projectors.length < 2) {
      const mongodb = await startMongodbProxy(trial.installation.mongodb);
      const process = trial.start({ MONGODB_URI: mongodb.uri });
      projectors.push({ ...process, mongodb });
      // While members still join, the group waits much longer for a frozen one.
      await process.logged(isAssignment);
    }
    await trial.untilAdvanced();
  });
  afterAll(async () => {
    await Promise.all(projectors.map(({ mongodb }) => mongodb.restore()));
  });

  /** The projector to which the partition was assigned last. */
  const owner = () => {
    const isGain = (line: LogLine) => isAssignment(line) && String(line['partitions']) !== '';
    const gotItAt = ({ lines }: ServiceProcess) => Number(lines.findLast(isGain)?.['time'] ?? 0);
    const [last] = projectors.toSorted((a, b) => gotItAt(b) - gotItAt(a));
    if (last === undefined || gotItAt(last) === 0) throw new Error('nobody has the partition');
    return last;
  };

  it('move it if the process is frozen, keep it while MongoDB is silent, and apply each event once', async () => {
    const frozen = owner();
    frozen.kill('SIGSTOP');
    const frozenMs = await trial.untilAdvanced();
    const assignments = () => frozen.lines.filter(isAssignment).length;
    const before = assignments();
    frozen.kill('SIGCONT');
    await eventually('it has joined again', () => assignments() > before);
    await trial.untilAdvanced();

    const silent = owner();
    silent.mongodb.freeze();
    const [from = 0] = await trial.positions();
    await sleep(10 * SESSION_TIMEOUT_MS);
    const [to = 0] = await trial.positions();
    await silent.mongodb.restore();
    const silentMs = await trial.untilAdvanced();
    // A write at the beginning of the silence may have arrived.
    expect(to - from).toBeLessThan(1_000);
    await trial.conclude([
      {
        fault: 'projector frozen, fewer partitions than brokers',
        recoveriesMs: [frozenMs],
        boundMs: 10_000,
      },
      {
        fault: `MongoDB silent for 10 sessions of one projector alone (${to - from} events applied meanwhile)`,
        recoveriesMs: [silentMs],
        boundMs: 10_000,
      },
    ]);
  });
});
