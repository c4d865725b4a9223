/**
 * `prepare`: makes the replica set or the shards, the topics and the signing key, which services
 * only check.
 */
import { BSON } from 'mongodb';
import { createSigningKeys } from '#shared/access/signing-key-set.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { type Admin, checkTopics, createTopics } from '#shared/kafka/client.ts';
import { openServers } from '../servers.ts';
import { command, wholeNumber, WrongUsage } from '../options.ts';
import { printResult, remark } from '../output.ts';
import { commandText, planSharding, sendAll } from '../prepare/sharding.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAddress, shownAddress } from '#shared/address.ts';
import type { Config } from '#shared/config.ts';
import {
  describeError,
  hasCode,
  isUnavailable,
  StoreDataError,
  unavailable,
} from '#shared/errors.ts';
import { createWriterClient } from '#shared/mongodb.ts';

export const prepareCommand = () =>
  command('prepare', 'Make the replica set, topics and signing key that are missing')
    .option(
      '-p, --partitions <number>',
      'partitions of the topics of changes that are made (default: 6)',
      wholeNumber(1, 10_000),
    )
    .option('--shard', 'distribute the collections of a sharded MongoDB by their keys')
    .option('--dry-run', 'with --shard: show its commands, and change nothing at all')
    .action(async ({ partitions: asked, shard = false, dryRun = false }) => {
      if (!shard && dryRun) throw new WrongUsage('--dry-run goes with --shard');
      await using servers = await openServers();
      const { config } = servers;
      // Refuses before anything is changed.
      const missing = shard ? await planSharding(servers, dryRun) : [];
      if (dryRun) {
        const json = { commands: BSON.EJSON.serialize(missing) };
        return printResult(json, missing.map(commandText).join('\n'));
      }
      servers.demand('MONGODB_URI');
      const replicaSet = await initiateReplicaSet(config);
      const changes = config.environments.map(changesTopic);
      const access = config.environments.map(accessTopic);
      const admin = await servers.kafka.admin();
      const topics = await createTopics(admin, changes, { partitions: asked ?? PARTITIONS });
      // Keys are few: one partition is enough.
      topics.push(...(await createTopics(admin, access, { partitions: 1 })));
      await checkTopics(admin, [...changes, ...access], remark);
      if (asked !== undefined) await remarkOtherPartitions(admin, changes, asked);
      await sendAll(servers, missing);
      const { signingKeysFile } = config.tokens;
      const signingKeys = signingKeysFile !== null && (await createSigningKeys(signingKeysFile));
      const words = [
        replicaSet ? 'replica set made' : 'replica set was there',
        topics.length > 0 ? `topics made: ${topics.join(', ')}` : 'topics were there',
      ];
      if (signingKeysFile !== null) {
        words.push(
          signingKeys ? `signing key made: ${signingKeysFile}` : 'signing keys were there',
        );
      }
      const sharded = missing.length;
      if (shard) {
        words.push(sharded > 0 ? `shards made by ${sharded} commands` : 'shards were there');
      }
      const result = { replica_set: replicaSet, topics, signing_keys: signingKeys };
      printResult({ ...result, ...(shard && { sharded }) }, words.join('\n'));
    });

const PARTITIONS = 6;

/** `prepare` leaves existing topics as they are: more partitions would move stores to others. */
async function remarkOtherPartitions(admin: Admin, topics: string[], asked: number): Promise<void> {
  const { topics: described } = await admin.fetchTopicMetadata({ topics });
  for (const { name, partitions } of described) {
    if (partitions.length === asked) continue;
    remark(
      `note: topic ${name} has ${partitions.length} partitions, not ${asked}, and keeps them (docs/deploying.md, "Scaling")`,
    );
  }
}

const ALREADY_INITIALIZED = 23;
const ELECTION_MS = 15_000;

/**
 * Makes the one server of a connection string the primary of its replica set, unless it is in one already.
 * @returns whether it was made now.
 * @throws {StoreDataError} `environment_unavailable` if none of several servers is in a set: only their operator knows its members.
 */
async function initiateReplicaSet({ mongodb }: Pick<Config, 'mongodb'>): Promise<boolean> {
  const missing = await replicaSetMissing({ mongodb });
  if (missing === null) return false;
  const { host, replicaSet } = readUri(mongodb.uri, missing);
  const uri = mongodb.uri.replace(/([?&])replicaSet=[^&]*&?/, '$1');
  await using client = createWriterClient({ mongodb: { ...mongodb, uri } }, 'prepare', {
    directConnection: true,
  });
  const admin = client.db('admin');
  try {
    await admin.command({ replSetInitiate: { _id: replicaSet, members: [{ _id: 0, host }] } });
  } catch (error) {
    if (hasCode(error, ALREADY_INITIALIZED)) return false;
    throw error;
  }
  for (const end = Date.now() + ELECTION_MS; Date.now() < end; await sleep(100)) {
    const { isWritablePrimary } = await admin.command({ hello: 1 });
    if (isWritablePrimary === true) return true;
  }
  throw new StoreDataError(
    'server_unsuitable',
    `${host} has not become primary within ${ELECTION_MS / 1_000} s`,
  );
}

/** Why there is no primary; `null` if there is one. */
async function replicaSetMissing(config: Pick<Config, 'mongodb'>): Promise<Error | null> {
  await using client = createWriterClient(config, 'prepare', { serverSelectionTimeoutMS: 3_000 });
  try {
    const { setName, msg } = await client.db('admin').command({ hello: 1 });
    // Or a router of a sharded cluster, whose shards are replica sets.
    const isThere = setName !== undefined || msg === 'isdbgrid';
    return isThere ? null : new Error('the server is not in a replica set');
  } catch (error) {
    if (error instanceof Error && isUnavailable(error)) return error;
    throw error;
  }
}

function readUri(uri: string, missing: Error): { host: string; replicaSet: string } {
  const { scheme, hosts } = readAddress(uri) ?? { scheme: '', hosts: [] };
  const host = scheme === 'mongodb://' && hosts.length === 1 ? hosts[0] : undefined;
  if (host === undefined) {
    throw unavailable(
      `MongoDB cannot be reached at ${shownAddress(uri)}: ${describeError(missing)}; ` +
        'several servers without a replica set need rs.initiate() first',
      missing,
    );
  }
  const [, replicaSet] = /[?&]replicaSet=([^&]+)/.exec(uri) ?? [];
  if (replicaSet === undefined) {
    throw new StoreDataError(
      'server_unsuitable',
      'MONGODB_URI must name the replica set, such as mongodb://mongodb:27017/?replicaSet=rs0',
    );
  }
  return { host, replicaSet };
}
