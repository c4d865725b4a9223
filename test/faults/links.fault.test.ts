import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { startTcpProxy } from '#test/tcp-proxy.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';
import { type Recovery, startTrial } from './trial.ts';

/** The duration of a cut, silence or slowness: longer than the session timeout. */
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
        // A direct connection: the driver would find the replica set's members without the proxy.
        MONGODB_URI: `mongodb://127.0.0.1:${mongodb.port}/?directConnection=true`,
      },
    }),
  );

  it('may be cut, slow, silent or half-open: everything is applied once', async () => {
    trial.start();
    await trial.untilAdvanced();
    const recoveries: Recovery[] = [];
    for (const [name, proxy] of [['Kafka', kafka.proxy] as const, ['MongoDB', mongodb] as const]) {
      const recovered = async (what: string, boundMs = 10_000) => {
        const recoveriesMs = [await trial.untilAdvanced()];
        recoveries.push({ fault: `${what} ${name}`, recoveriesMs, boundMs });
      };

      await proxy.cut();
      await sleep(FAULT_MS);
      await proxy.restore();
      await recovered('connections cut to');

      // It continues slowly meanwhile.
      proxy.slowDown(SLOW_MS);
      await recovered(`every answer ${SLOW_MS} ms later from`);
      await sleep(FAULT_MS);
      await trial.untilAdvanced();
      await proxy.restore();

      proxy.freeze();
      await sleep(FAULT_MS);
      await proxy.restore();
      await recovered('silence, then all at once from');

      proxy.strand();
      await recovered('connections half-open to', 30_000);
      // Connections that have been idle since then are dead, too.
      await recovered('the next events after half-open connections to');
    }
    await trial.conclude(recoveries);
  });
});
