/** `stores export`: a store's events as they lie in the log, to publish them elsewhere. */
import { once } from 'node:events';
import { Command } from '@commander-js/extra-typings';
import { withServers } from '../../connection/servers.ts';
import { tellEventsOf } from '../../log/events-of-store.ts';
import { chooseEnvironment, environmentOption, storeId as readStoreId } from '../../options.ts';
import { markFailed, remark } from '../../output/print.ts';

export const exportCommand = () =>
  new Command('export')
    .description('Print the events of a store as NDJSON, from the log')
    .argument('<store>', 'the store', readStoreId)
    .addOption(environmentOption('environment; needed where there are several'))
    .action((storeId, flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const { events, rejected, unreadable } = await tellEventsOf(servers, environment, storeId, write);
        remark(`${events} events of store ${storeId} in ${environment}`);
        if (rejected > 0) remark(`store-data: ${rejected} of its messages are no events, and are left out`);
        if (unreadable > 0)
          remark(`store-data: ${unreadable} record batches cannot be read, of whatever stores`);
        if (rejected + unreadable > 0) markFailed();
      }),
    );

async function write(lines: readonly string[]): Promise<void> {
  const { stdout } = process;
  if (!stdout.write(`${lines.join('\n')}\n`)) await once(stdout, 'drain');
}
