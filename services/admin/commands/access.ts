/** `access`: the log of keys, blocked stores, quotas and erasures, for who has lost it or MongoDB. */
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { remarkOtherErasures, replayAccess, republishAccess } from '../access/log.ts';
import { audited } from '../audit.ts';
import { withServers } from '../servers.ts';
import { chooseEnvironments, command, environmentOption } from '../options.ts';
import { printRows, remark } from '../output/print.ts';

export const republishCommand = () =>
  command('republish', 'Publish the keys, blocked stores, quotas and erasures that MongoDB knows to their topic')
    .addOption(environmentOption('only of that environment'))
    .action((flags) =>
      withServers(async (servers) => {
        const done = [];
        for (const environment of chooseEnvironments(servers.config, flags.environment)) {
          const topics = [changesTopic(environment), accessTopic(environment)];
          await remarkOtherErasures(servers, environment, topics);
          const about = { action: 'access.republish', environment, details: {} } as const;
          const counts = await audited(servers, about, async () => {
            const result = await republishAccess(servers, environment);
            return { result, details: { ...result } };
          });
          done.push({ environment, ...counts });
        }
        printRows(done, [
          ['ENVIRONMENT', 'environment'],
          ['KEYS', 'keys', 'right'],
          ['STORES', 'stores', 'right'],
          ['QUOTAS', 'quotas', 'right'],
          ['ERASURES', 'erasures', 'right'],
        ]);
      }),
    );

export const replayCommand = () =>
  command('replay', 'Have the log of access applied from its beginning')
    .addOption(environmentOption('only of that environment'))
    .action((flags) =>
      withServers(async (servers) => {
        const done = [];
        for (const environment of chooseEnvironments(servers.config, flags.environment)) {
          await remarkOtherErasures(servers, environment, [accessTopic(environment)]);
          const about = { action: 'access.replay', environment, details: {} } as const;
          const partitions = await audited(servers, about, async () => {
            const result = await replayAccess(servers, environment);
            return { result, details: { partitions: result } };
          });
          done.push({ environment, partitions });
        }
        printRows(done, [
          ['ENVIRONMENT', 'environment'],
          ['PARTITIONS', 'partitions', 'right'],
        ]);
        remark('note: projectors begin within twenty seconds; "store-data lag" shows when they are done');
      }),
    );
