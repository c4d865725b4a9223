/**
 * With more brokers than partitions kafkajs sends heartbeats for a member whose work is blocked.
 * Its partition must move anyway.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import type { LogLine, ServiceProcess } from '#test/service-process.ts';
import { startTcpProxy, type TcpProxy } from '#test/tcp-proxy.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';
import { SESSION_TIMEOUT_MS, startTrial } from './trial.ts';

const isAssignment = ({ msg, topic }: LogLine) =>
  msg === 'partitions are assigned' && String(topic).startsWith('store-changes');

interface Projector {
  process: ServiceProcess;
  mongodb: TcpProxy;
}

const assignmentsOf = ({ process }: Projector) => process.lines.filter(isAssignment);

describe('two projectors of one partition on three brokers, whose owner is blocked', () => {
  const projectors: Projector[] = [];
  afterAll(() => Promise.all(projectors.map(({ mongodb }) => mongodb.close())));
  const kafka = useMade(() => startKafkaCluster(3));
  const trial = useMade(() =>
    startTrial({ partitions: 1, settings: { KAFKA_BROKERS: kafka.brokers } }),
  );
  beforeAll(async () => {
    const { port } = new URL(process.env['MONGODB_URI'] ?? '');
    for (let count = 0; count < 2; count += 1) {
      const mongodb = await startTcpProxy({ host: '127.0.0.1', port: Number(port) });
      const MONGODB_URI = `mongodb://127.0.0.1:${mongodb.port}/?directConnection=true`;
      const process = trial.start({ MONGODB_URI });
      projectors.push({ process, mongodb });
      // While members still join, the group waits much longer for a frozen one.
      await process.logged(isAssignment);
    }
    await trial.untilAdvanced();
  });
  afterAll(async () => {
    await Promise.all(projectors.map(({ mongodb }) => mongodb.restore()));
  });

  /** The projector to which the partition was assigned last. */
  const owner = (): Projector => {
    const assignments = projectors.flatMap((projector) =>
      assignmentsOf(projector).map((line) => ({
        projector,
        at: Number(line['time']),
        has: String(line['partitions']) !== '',
      })),
    );
    const last = assignments.filter(({ has }) => has).toSorted((a, b) => a.at - b.at);
    const found = last.at(-1)?.projector;
    if (found === undefined) throw new Error('no projector has the partition');
    return found;
  };

  it('move it if the process is frozen, keep it while MongoDB is silent, and apply each event once', async () => {
    const frozen = owner();
    frozen.process.kill('SIGSTOP');
    const recoveryMs = await trial.untilAdvanced();
    frozen.process.kill('SIGCONT');
    const { length: times } = assignmentsOf(frozen);
    await eventually('it has joined again', () => assignmentsOf(frozen).length > times);
    await trial.untilAdvanced();

    const silent = owner();
    silent.mongodb.freeze();
    const before = await trial.positions();
    await sleep(10 * SESSION_TIMEOUT_MS);
    const [from = 0, to = 0] = [...before, ...(await trial.positions())];
    await silent.mongodb.restore();
    const restoredMs = await trial.untilAdvanced();
    // A write at the beginning of the silence may have arrived.
    expect(to - from).toBeLessThan(1_000);
    await trial.conclude([
      {
        fault: 'projector frozen, fewer partitions than brokers',
        recoveriesMs: [recoveryMs],
        boundMs: 10_000,
      },
      {
        fault: `MongoDB silent for 10 sessions of one projector alone (${to - from} events applied meanwhile)`,
        recoveriesMs: [restoredMs],
        boundMs: 10_000,
      },
    ]);
  });
});
