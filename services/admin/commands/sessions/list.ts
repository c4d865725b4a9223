/** `sessions list`: the sessions of a store that are live. Redis alone knows them. */
import { Command } from '@commander-js/extra-typings';
import { redisKeys } from '#shared/access/grants.ts';
import { nodeFor } from '#shared/redis-masters.ts';
import { withServers } from '../../connection/servers.ts';
import {
  chooseEnvironment,
  clientId as readClientId,
  environmentOption,
  jsonOption,
  limitOption,
  storeOption,
} from '../../options.ts';
import { formatDuration } from '../../output/durations.ts';
import { printResult, remark, tableOf } from '../../output/print.ts';

/** How many keys Redis looks at before it serves others. */
const LOOKED_AT_TOGETHER = 1_000;

export const listCommand = () =>
  new Command('list')
    .description('List the sessions of a store whose tokens are valid')
    .addOption(storeOption('the store').makeOptionMandatory())
    .addOption(environmentOption('environment; needed where there are several'))
    .option('-c, --client <id>', 'only those of a key', readClientId)
    .addOption(limitOption(100))
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const own = redisKeys(servers.config.namePrefix, environment, flags.store).session('');
        // All sessions of a store lie together.
        const redis = nodeFor(await servers.redis(), own);
        const found: { session_id: string; client_id: string; seconds_left: number }[] = [];
        // What is scanned may be told twice.
        const seen = new Set<string>();
        // Prefixes and ids of stores have no character that a pattern reads as another.
        for await (const names of redis.scanStream({ match: `${own}*`, count: LOOKED_AT_TOGETHER })) {
          for (const name of names as string[]) {
            if (seen.has(name) || found.length > flags.limit) continue;
            seen.add(name);
            const [client, seconds] = await Promise.all([redis.get(name), redis.ttl(name)]);
            if (client === null || seconds < 0 || (flags.client !== undefined && client !== flags.client))
              continue;
            found.push({ session_id: name.slice(own.length), client_id: client, seconds_left: seconds });
          }
          if (found.length > flags.limit) break;
        }
        const shown = found.slice(0, flags.limit).toSorted((a, b) => b.seconds_left - a.seconds_left);
        const table = tableOf(shown, [
          ['SESSION', ({ session_id }) => session_id],
          ['CLIENT_ID', ({ client_id }) => client_id],
          ['ENDS IN', ({ seconds_left }) => formatDuration(seconds_left * 1_000), 'right'],
        ]);
        printResult(flags, shown, shown.length === 0 ? 'no sessions' : table);
        if (found.length > shown.length) remark(`there are more than ${flags.limit}: --limit shows more`);
      }),
    );
