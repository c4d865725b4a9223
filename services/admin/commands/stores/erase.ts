/** `stores erase`: removes everything that is stored of a store, for good. */
import { Command } from '@commander-js/extra-typings';
import { remarkUnknownStore } from '../../access/store-record.ts';
import { audited } from '../../audit.ts';
import { withServers } from '../../connection/servers.ts';
import { addUp, type Counts } from '../../erase/documents.ts';
import { countHoldings, eraseStore } from '../../erase/store.ts';
import { chooseEnvironment, environmentOption, jsonOption, storeId as readStoreId } from '../../options.ts';
import { printResult, remark, renderFacts } from '../../output/print.ts';

export const eraseCommand = () =>
  new Command('erase')
    .description('Remove everything that is stored of a store, for good')
    .argument('<store>', 'the store', readStoreId)
    .addOption(environmentOption('environment; needed where there are several'))
    .option('-y, --yes', 'do it; without it nothing is changed, and what there is is counted')
    .addOption(jsonOption())
    .action((store_id, flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const store = { environment, store_id };
        await remarkUnknownStore(servers, environment, store_id);
        const { access, generations: stored } = await countHoldings(servers, store);
        let generations = stored;
        if (flags.yes) {
          const about = { action: 'stores.erase', ...store, details: {} } as const;
          generations = await audited(servers, about, async () => {
            const result = await eraseStore(servers, store);
            const documents = sumOf(addUp(result.map((one) => one.documents)));
            return { result, details: { documents, generations: result.length } };
          });
        }
        const erased = flags.yes === true;
        printResult(
          flags,
          { ...store, erased, access, generations },
          renderFacts([
            ['store', store_id],
            ['environment', environment],
            ['status', erased ? 'erased' : 'nothing is changed'],
            ...factsOf('', access),
            ...generations.flatMap(({ generation, documents }) => factsOf(`g${generation} `, documents)),
          ]),
        );
        if (!erased) remark('note: give --yes to erase it, and stop whoever publishes its changes before');
      }),
    );

function factsOf(prefix: string, counts: Counts): (readonly [string, string])[] {
  return Object.entries(counts).map(([name, count]) => [
    `${prefix}${name.replaceAll('_', ' ')}`,
    String(count),
  ]);
}

function sumOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
