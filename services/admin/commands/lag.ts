/** `lag`: how far the projector is behind the logs. */
import { Command } from '@commander-js/extra-typings';
import { notFound } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { pause } from '#shared/pause.ts';
import { withServers } from '../connection/servers.ts';
import { measureLag, type PartitionLag } from '../lag/measure.ts';
import { chooseEnvironments, environmentOption, jsonOption } from '../options.ts';
import { formatAge } from '../output/durations.ts';
import { print, printResult, renderTable } from '../output/print.ts';
import { stopSignal } from '../stop-signal.ts';

const WATCH_MS = 1_000;
const CLEAR_SCREEN = '\u001B[2J\u001B[H';

export const lagCommand = () =>
  new Command('lag')
    .description('Show how many messages are not applied yet')
    .addOption(environmentOption('only that environment'))
    .option('-w, --watch', 'measure every second until Ctrl-C')
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const environments = chooseEnvironments(servers.config, flags.environment);
        const topics = environments.flatMap((name) => [changesTopic(name), accessTopic(name)]);
        for (const [kafka, ofKafka] of servers.kafkas.group(topics)) {
          const existing = new Set(await (await kafka.admin()).listTopics());
          for (const topic of ofKafka)
            if (!existing.has(topic)) throw notFound(`topic ${topic} does not exist`);
        }
        const measure = () => measureLag(servers, environments);
        if (!flags.watch) {
          show(await measure(), flags);
          return;
        }
        const stopped = stopSignal();
        do {
          const lags = await measure();
          if (flags.json) print(JSON.stringify(toJson(lags)));
          else {
            if (process.stdout.isTTY) process.stdout.write(CLEAR_SCREEN);
            show(lags, flags);
          }
        } while (await pause(WATCH_MS, stopped));
      }),
    );

function show(lags: readonly PartitionLag[], flags: { json?: true | undefined }): void {
  printResult(flags, toJson(lags), toTable(lags));
}

function toTable(lags: readonly PartitionLag[]): string {
  return renderTable(
    [
      { title: 'TOPIC' },
      { title: 'PARTITION', align: 'right' },
      { title: 'POSITION', align: 'right' },
      { title: 'END', align: 'right' },
      { title: 'LAG', align: 'right' },
      { title: 'LAST', align: 'right' },
    ],
    [
      ...lags.map(({ topic, partition, position, end, lag, lastAppliedAt }) => [
        topic,
        String(partition),
        position === null ? '-' : String(position),
        String(end),
        lag === null ? 'other log' : String(lag),
        lastAppliedAt === null ? '-' : formatAge(lastAppliedAt),
      ]),
      ['total', '', '', '', String(totalOf(lags)), ''],
    ],
  );
}

function toJson(lags: readonly PartitionLag[]): object {
  return {
    lag: totalOf(lags),
    partitions: lags.map(({ lastAppliedAt, ...rest }) => ({ ...rest, last_applied_at: lastAppliedAt })),
  };
}

function totalOf(lags: readonly PartitionLag[]): number {
  return lags.reduce((sum, { lag }) => sum + (lag ?? 0), 0);
}
