/** The MongoDB Kafka Sink Connector in a standalone worker; each round with a collection and a group of its own. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import { dataFolderAt } from '#local/stack/folder/data-folder.ts';
import { asProperties } from '#local/stack/kafka/settings.ts';
import { lastLines } from '#local/stack/program/log-tail.ts';
import { startGuarded } from '#local/stack/program/guarded-process.ts';
import { changesTopic } from '#shared/events/topics.ts';
import type { Ground } from '../../ground.ts';
import type { Say } from '../../say.ts';
import { locateConnector } from '../connector/package.ts';
import { JVM_OPTIONS, sinkSettings, workerSettings } from '../connector/settings.ts';
import type { Side } from './side.ts';

const COLLECTION = 'orders';
const GRACE_MS = 10_000;

/** As our orders have them, on the same fields as far as an event holds them: nothing in it is a position of the change feed. */
const INDEXES = [
  { name: 'by_rank', key: { storeid: 1, 'data.created_at': 1, subject: 1 } },
  { name: 'by_facet', key: { storeid: 1, 'data.status': 1, 'data.created_at': 1 } },
  { name: 'by_customer', key: { storeid: 1, 'data.customer.id': 1, 'data.created_at': 1 } },
  { name: 'by_updated', key: { storeid: 1, 'data.updated_at': 1 } },
] as const;

/** @param admin a connected one, which stays the caller's. */
export async function connectorSide(
  { installation, folder, guard }: Ground,
  admin: Admin,
  say: Say,
): Promise<Side> {
  const { mongodb, environment, config, env } = installation;
  const { java, worker, plugin } = await locateConnector({
    env: process.env,
    log: say,
    guard,
    folder: dataFolderAt(folder),
    keepData: false,
  });
  // A folder with one folder for each plugin: more than ours lies in the cache.
  const plugins = join(folder, 'plugins');
  await mkdir(plugins);
  await symlink(plugin, join(plugins, 'mongodb'));
  const topic = changesTopic(environment);
  return {
    name: 'connector',
    start: async (round) => {
      const name = `${config.namePrefix}_connector_${round}`;
      const db = mongodb.db(name);
      await prepare(db);
      const files = ['worker', 'sink'].map((file) => join(folder, `${name}.${file}.properties`));
      const [workerFile = '', sinkFile = ''] = files;
      const offsetsFile = join(folder, `${name}.offsets`);
      const brokers = config.kafka.brokers.join(',');
      await writeFile(workerFile, asProperties(workerSettings({ brokers, plugins, offsetsFile })));
      const sink = { name, topic, deadLetterTopic: `${name}.dead`, mongodbUri: withMajority(env) };
      await writeFile(
        sinkFile,
        asProperties(sinkSettings({ ...sink, database: name, collection: COLLECTION })),
      );
      const classes = ['-cp', join(worker, '*'), 'org.apache.kafka.connect.cli.ConnectStandalone'];
      const args = [...JVM_OPTIONS, ...classes, workerFile, sinkFile];
      const logFile = join(folder, `${name}.log`);
      const held = await startGuarded(guard, { file: java.file, args }, logFile);
      let hasEnded = false;
      const ended = () => {
        hasEnded = true;
      };
      held.exited.then(ended, ended);
      return {
        pid: held.pid,
        stop: () => held.stop(GRACE_MS),
        database: () => Promise.resolve(db),
        positions: async () => {
          if (hasEnded) throw new Error(['the connector has ended:', ...lastLines(logFile)].join('\n'));
          const [offsets] = await admin.fetchOffsets({ groupId: `connect-${name}`, topics: [topic] });
          return new Map(
            offsets?.partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]),
          );
        },
        check: async (orders) => {
          const found = await db.collection(COLLECTION).countDocuments({ sequence: '2' });
          if (found !== orders) throw new Error(`connector: ${found} of ${orders} orders`);
        },
      };
    },
  };
}

async function prepare(db: Db): Promise<void> {
  await db.collection(COLLECTION).createIndexes(INDEXES.map(({ name, key }) => ({ name, key })));
}

function withMajority({ MONGODB_URI: uri = '' }: Record<string, string>): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}w=majority`;
}
