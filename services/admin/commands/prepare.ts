/** `prepare`: makes what the services only check: the replica set, the topics, the key that signs tokens. */
import { Command } from '@commander-js/extra-typings';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { checkTopics, createTopics } from '#shared/kafka.ts';
import { readConnection } from '../connection/settings.ts';
import { withServers } from '../connection/servers.ts';
import { jsonOption, wholeNumber } from '../options.ts';
import { printResult } from '../output/print.ts';
import { initiateReplicaSet } from '../prepare/replica-set.ts';
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
    .addOption(jsonOption())
    .action(async ({ partitions, ...flags }) => {
      const { config } = await readConnection(process.env);
      let replicaSet = false;
      const own = [...config.own.values()].flatMap(({ mongodb }) => mongodb?.uri ?? []);
      for (const uri of new Set([config.mongodb.uri, ...own])) {
        replicaSet = (await initiateReplicaSet(uri)) || replicaSet;
      }
      const topics = await withServers(async (servers) => {
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
          await checkTopics(admin, ofKafka);
        }
        return made;
      });
      const { signingKeysFile } = config.tokens;
      const signingKeys = signingKeysFile === null ? false : await createSigningKeys(signingKeysFile);
      const words = [
        replicaSet ? 'replica set made' : 'replica set was there',
        topics.length > 0 ? `topics made: ${topics.join(', ')}` : 'topics were there',
        ...(signingKeysFile === null
          ? []
          : [signingKeys ? `signing key made: ${signingKeysFile}` : 'signing keys were there']),
      ];
      printResult(flags, { replica_set: replicaSet, topics, signing_keys: signingKeys }, words.join('\n'));
    });
