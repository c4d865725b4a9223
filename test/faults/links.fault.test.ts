import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { startTcpProxy } from '#test/tcp-proxy.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';
import { startTrial } from './trial.ts';

/** How long a connection is cut, silent or slow: longer than a session lasts. */
const FAULT_MS = 3_000;
const SLOW_MS = 20;

describe('connections of the projector', () => {
  const kafka = useMade(() => startKafkaCluster(1));
  const mongodb = useMade(() => {
    const { port } = new URL(process.env['MONGODB_URI'] ?? '');
    return startTcpProxy({ host: '127.0.0.1', port: Number(port) });
  });
  const trial = useMade(() =>
    startTrial({
      settings: { KAFKA_BROKERS: kafka.brokers },
      disturbedSettings: {
        KAFKA_BROKERS: kafka.proxied,
        // By this address alone: a replica set's members would be found without the proxy.
        MONGODB_URI: `mongodb://127.0.0.1:${mongodb.port}/?directConnection=true`,
      },
    }),
  );

  it('are cut, slowed, silent and half-open, and everything is applied once', async () => {
    trial.start();
    await trial.movesOn();
    const rows: { fault: string; recoveriesMs: number[]; boundMs: number }[] = [];
    for (const [name, proxy] of [['Kafka', kafka.proxy] as const, ['MongoDB', mongodb] as const]) {
      const row = (fault: string, recovery: number, boundMs: number) =>
        rows.push({ fault: `${fault} ${name}`, recoveriesMs: [recovery], boundMs });

      await proxy.cut();
      await sleep(FAULT_MS);
      await proxy.restore();
      row('connections cut to', await trial.movesOn(), 10_000);

      // It continues meanwhile, slowly.
      proxy.slowDown(SLOW_MS);
      row(`every answer ${SLOW_MS} ms later from`, await trial.movesOn(), 10_000);
      await sleep(FAULT_MS);
      await trial.movesOn();
      await proxy.restore();

      proxy.freeze();
      await sleep(FAULT_MS);
      await proxy.restore();
      row('silence, then all at once from', await trial.movesOn(), 10_000);

      proxy.strand();
      row('connections half-open to', await trial.movesOn(), 30_000);
      // Connections without a request since then are dead as well.
      row('the next events after half-open connections to', await trial.movesOn(), 10_000);
    }
    await trial.conclude(rows);
  });
});
