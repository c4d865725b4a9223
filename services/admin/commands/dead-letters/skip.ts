/** `dead-letters skip`: goes on behind a record batch that cannot be read, at which a partition has stopped. */
import { Command } from '@commander-js/extra-typings';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { audited } from '../../audit/audited.ts';
import { type Servers, withServers } from '../../connection/servers.ts';
import { checkCannotBeRead, findUnreadable, lastToSkip, noteSkip } from '../../dead-letters/skip.ts';
import { jsonOption, WrongUsage, wholeNumber } from '../../options.ts';
import { askFor, checkCanAsk } from '../../output/confirm.ts';
import { printResult } from '../../output/print.ts';

const offset = wholeNumber(0, 999_999_999_999_999);

export const skipCommand = () =>
  new Command('skip')
    .description('Pass by a record batch that cannot be read, where a partition has stopped')
    .requiredOption('--topic <topic>', 'where it lies')
    .requiredOption('--partition <n>', 'where it lies', wholeNumber(0, 1_000_000))
    .requiredOption('--offset <n>', 'the first offset that cannot be read', offset)
    .option('--to <n>', 'the last one, where that cannot be told', offset)
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
    .action(async (flags) => {
      checkCanAsk(flags, 'pass a batch by');
      await withServers(async (servers) => {
        const { topic, partition } = flags;
        const environment = environmentOf(servers, topic);
        const { batch, logEnd } = await findUnreadable(servers, flags);
        const to = lastToSkip(batch, flags.to, logEnd);
        if (to !== batch.to) await checkCannotBeRead(servers, { topic, partition, offset: to });
        const { from, reason, detail } = batch;
        const count = to - from + 1;
        const question = `Pass by ${count} offsets of ${topic}/${partition}, ${from} to ${to} (${reason}: ${detail})?`;
        await askFor(flags, question, 'nothing is passed by');
        const details = { topic, partition, from, to, reason };
        await audited(servers, { action: 'dead-letters.skip', environment, details }, async () => {
          await noteSkip(await servers.control(), flags, batch, to);
          return { result: undefined, details };
        });
        const place = `${topic}/${partition}`;
        printResult(flags, details, `${place} goes on at ${to + 1}; the dead letter is ${place}/${from}`);
      });
    });

/** @throws {WrongUsage} when it is none of ours. */
function environmentOf({ config: { environments } }: Servers, topic: string): string {
  const found = environments.find((name) => topic === changesTopic(name) || topic === accessTopic(name));
  if (found !== undefined) return found;
  const topics = environments.flatMap((name) => [changesTopic(name), accessTopic(name)]);
  throw new WrongUsage(`there is no topic "${topic}"; there are ${topics.join(', ')}`);
}
