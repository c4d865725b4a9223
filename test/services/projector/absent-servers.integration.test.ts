/**
 * A start without Kafka and MongoDB: the projector waits, logs the reason, and answers on its
 * operations port meanwhile.
 */
import { expect, it, onTestFinished } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { startMongodbProxy } from '#test/server-proxies.ts';
import { killAll, startService } from '#test/service-process.ts';
import { startTcpProxy } from '#test/tcp-proxy.ts';

const installation = useInstallation();

it('a projector waits for Kafka, then for MongoDB, and continues once they are reachable', async () => {
  const { env, config, mongodb: client } = installation;
  const [broker = ''] = config.kafka.brokers;
  const [brokerHost = '', brokerPort] = broker.split(':');
  const kafka = await startTcpProxy({ host: brokerHost, port: Number(brokerPort) });
  const mongodb = await startMongodbProxy(client);
  await kafka.cut();
  await mongodb.cut();
  const projector = startService('projector', {
    ...env,
    KAFKA_BROKERS: `127.0.0.1:${kafka.port}`,
    MONGODB_URI: mongodb.uri,
  });
  onTestFinished(async () => {
    await killAll([projector]);
    await kafka.close();
    await mongodb.close();
  });
  const { url } = await projector.logged(({ msg }) => msg === 'operations server listens');
  const statuses = () =>
    Promise.all(
      ['live', 'ready', 'metrics'].map(
        async (path) => (await fetch(`${String(url)}/${path}`)).status,
      ),
    );
  await projector.logged(({ msg }) => msg === 'waiting for Kafka');
  expect(await statuses()).toEqual([200, 503, 200]);
  await kafka.restore();
  await projector.logged(({ msg }) => msg === 'waiting for MongoDB');
  expect(await statuses()).toEqual([200, 503, 200]);
  await mongodb.restore();
  await projector.logged(({ msg }) => msg === 'projector started');
  expect(await statuses()).toEqual([200, 200, 200]);
  projector.kill('SIGTERM');
  expect(await projector.ended).toEqual({ code: 0, signal: null });
});
