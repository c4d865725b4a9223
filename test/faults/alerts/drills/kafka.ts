/** Kafka: a broker that is away, and what is wrong with a log. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { eventually } from '#test/eventually.ts';
import { damageLast, DAMAGES } from '../../servers/damaged-log.ts';
import { abortHanging, hang } from '../../servers/hanging-transaction.ts';
import type { Drill } from '../drill.ts';
import { STORE, type Watched } from '../watched.ts';

/** Longer than the projector's last fetch is answered. */
const CUT_MS = 1_500;

const topicOf = ({ installation }: Watched) => changesTopic(installation.environment);

export const KAFKA: readonly Drill[] = [
  {
    name: 'the only broker is killed, and starts again',
    alerts: ['StoreDataKafkaAway', 'StoreDataNothingFetched'],
    async cause({ kafka: { servers } }) {
      await servers[0]?.kill();
      return async () => servers[0]?.start();
    },
  },
  {
    name: 'a transaction hangs, is found and aborted',
    alerts: ['StoreDataTransactionOpen'],
    async cause(watched) {
      const topic = topicOf(watched);
      await hang(watched.installation.kafka, topic, STORE);
      await watched.orders(1);
      return async () => expect(await abortHanging(watched.kafka, topic)).toBe(0);
    },
  },
  {
    name: 'a record batch is damaged on the broker’s disk, and is skipped',
    alerts: ['StoreDataBatchUnreadable'],
    async cause(watched) {
      const { kafka, projector, run } = watched;
      const topic = topicOf(watched);
      await kafka.proxy.cut();
      await sleep(CUT_MS);
      await watched.orders(1);
      await damageLast(kafka.logFile(topic, 0), DAMAGES['corrupt'] ?? (() => undefined));
      await kafka.proxy.restore();
      return async () => {
        const { offset } = await projector.logged(
          ({ level, offset: at }) => level === 60 && at !== undefined,
        );
        const place = ['--topic', topic, '--partition', '0', '--offset', String(offset)];
        await run('dead-letters', 'skip', ...place, '--yes');
        await eventually('it is a dead letter', async () =>
          (await run('dead-letters', 'list')).includes('unreadable'),
        );
        await run('dead-letters', 'drop', '--all', '--yes');
      };
    },
  },
];
