/** `access`: the log of keys, blocked stores, quotas and erasures, for who has lost it or MongoDB. */
import type { AuditAction } from '#shared/access/audit.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { remarkOtherErasures, replayAccess, republishAccess } from '../access/log.ts';
import { audited } from '../audit.ts';
import { type Servers, withServers } from '../servers.ts';
import { chooseEnvironments, command, environmentOption } from '../options.ts';
import { printRows, remark } from '../output/print.ts';

export const republishCommand = () =>
  command('republish', 'Publish the keys, blocked stores, quotas and erasures that MongoDB knows to their topic')
    .addOption(environmentOption('only of that environment'))
    .action(async (flags) => {
      const topicsOf = (name: string) => [changesTopic(name), accessTopic(name)];
      const done = await inEach('access.republish', flags.environment, topicsOf, republishAccess);
      printRows(done, null, [
        ['ENVIRONMENT', 'environment'],
        ['KEYS', 'keys', 'right'],
        ['STORES', 'stores', 'right'],
        ['QUOTAS', 'quotas', 'right'],
        ['ERASURES', 'erasures', 'right'],
      ]);
    });

export const replayCommand = () =>
  command('replay', 'Have the log of access applied from its beginning')
    .addOption(environmentOption('only of that environment'))
    .action(async (flags) => {
      const topicsOf = (name: string) => [accessTopic(name)];
      const done = await inEach('access.replay', flags.environment, topicsOf, replayAccess);
      printRows(done, null, [
        ['ENVIRONMENT', 'environment'],
        ['PARTITIONS', 'partitions', 'right'],
      ]);
      remark('note: projectors begin within twenty seconds; "store-data lag" shows when they are done');
    });

/** Does it in each environment that is meant, once it is known which erasures are of another log than the topics hold. */
function inEach<C extends Record<string, number>>(
  action: AuditAction,
  given: string | undefined,
  topicsOf: (environment: string) => string[],
  work: (servers: Servers, environment: string) => Promise<C>,
): Promise<({ environment: string } & C)[]> {
  return withServers(async (servers) => {
    const done = [];
    for (const environment of chooseEnvironments(servers.config, given)) {
      await remarkOtherErasures(servers, environment, topicsOf(environment));
      const counts = await audited(servers, { action, environment, details: {} }, async () => {
        const result = await work(servers, environment);
        return { result, details: result };
      });
      done.push({ environment, ...counts });
    }
    return done;
  });
}
