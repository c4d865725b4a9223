/** `prepare`: makes what the services only check: the replica set or the shards, the topics, the key that signs tokens. */
import { Command } from '@commander-js/extra-typings';
import { BSON } from 'mongodb';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { checkTopics, createTopics } from '#shared/kafka/topics.ts';
import { readConnection } from '../connection/settings.ts';
import { type Servers, withServers } from '../connection/servers.ts';
import { jsonOption, shardNames, wholeNumber, WrongUsage } from '../options.ts';
import { printResult, remark } from '../output/print.ts';
import { initiateReplicaSet } from '../prepare/replica-set.ts';
import {
  clustersToShard,
  commandsToShard,
  commandText,
  sendAll,
  type ShardCommand,
  type ShardOptions,
} from '../prepare/sharding.ts';
import { createSigningKeys } from '../prepare/signing-keys.ts';

export const prepareCommand = () =>
  new Command('prepare')
    .description('Make the replica set, topics and signing key that are missing')
    .option(
      '-p, --partitions <number>',
      'partitions of the topics of changes that are made',
      wholeNumber(1, 10_000),
      6,
    )
    .option('--shard', 'shard the collections of a sharded MongoDB, in zones by partition')
    .option('--shards <names>', 'the shards that share the zones, with commas; by default all', shardNames)
    .option('--dry-run', 'with --shard: show its commands, and change nothing at all')
    .addOption(jsonOption())
    .action(async ({ partitions, shard = false, shards = null, dryRun = false, ...flags }) => {
      if (!shard && (shards !== null || dryRun))
        throw new WrongUsage('--shards and --dry-run go with --shard');
      const sharding = { shards, dryRun, partitions };
      if (dryRun) return withServers((servers) => showSharding(servers, sharding, flags));
      const { config } = await readConnection(process.env);
      if (shard) await withServers((servers) => clustersToShard(servers, sharding));
      let replicaSet = false;
      const own = [...config.own.values()].flatMap(({ mongodb }) => mongodb ?? []);
      for (const mongodb of [config.mongodb, ...own]) {
        replicaSet = (await initiateReplicaSet({ mongodb })) || replicaSet;
      }
      const { topics, sharded } = await withServers(async (servers) => {
        const changes = config.environments.map(changesTopic);
        const access = config.environments.map(accessTopic);
        const made: string[] = [];
        for (const [kafka, ofKafka] of servers.kafkas.group([...changes, ...access])) {
          const admin = await kafka.admin();
          // Keys are few: their topics stay small, and one partition applies them in any case.
          for (const [names, count] of [[changes, partitions] as const, [access, 1] as const]) {
            const wanted = ofKafka.filter((topic) => names.includes(topic));
            made.push(...(await createTopics(admin, wanted, { partitions: count })));
          }
          await checkTopics(admin, ofKafka, remark);
        }
        return { topics: made, sharded: shard ? await makeShards(servers, sharding) : null };
      });
      const { signingKeysFile } = config.tokens;
      const signingKeys = signingKeysFile === null ? false : await createSigningKeys(signingKeysFile);
      const words = [
        replicaSet ? 'replica set made' : 'replica set was there',
        topics.length > 0 ? `topics made: ${topics.join(', ')}` : 'topics were there',
        ...(signingKeysFile === null
          ? []
          : [signingKeys ? `signing key made: ${signingKeysFile}` : 'signing keys were there']),
        ...(sharded === null
          ? []
          : [sharded > 0 ? `shards made by ${sharded} commands` : 'shards were there']),
      ];
      const result = { replica_set: replicaSet, topics, signing_keys: signingKeys };
      printResult(flags, { ...result, ...(sharded === null ? {} : { sharded }) }, words.join('\n'));
    });

async function makeShards(servers: Servers, options: ShardOptions): Promise<number> {
  let sent = 0;
  for (const cluster of await clustersToShard(servers, options)) {
    const commands = await commandsToShard(servers, cluster, options);
    await sendAll(cluster.client, commands);
    sent += commands.length;
  }
  return sent;
}

async function showSharding(
  servers: Servers,
  options: ShardOptions,
  flags: { json?: true | undefined },
): Promise<void> {
  const commands: ShardCommand[] = [];
  for (const cluster of await clustersToShard(servers, options)) {
    commands.push(...(await commandsToShard(servers, cluster, options)));
  }
  printResult(flags, { commands: BSON.EJSON.serialize(commands) }, commands.map(commandText).join('\n'));
}
