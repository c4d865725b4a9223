/** `stores block` and `stores unblock`: whether anybody may read a store's data. */
import { Command } from '@commander-js/extra-typings';
import { controlCollections, isBlocked, storeAccessId } from '#shared/access/access-keys.ts';
import { remarkUnknownStore } from '../../access/store-record.ts';
import { storeSubject } from '../../access/subject.ts';
import { changeAccess } from '../../access/change.ts';
import { withServers } from '../../connection/servers.ts';
import {
  chooseEnvironment,
  environmentOption,
  jsonOption,
  storeId as readStoreId,
  waitOption,
} from '../../options.ts';
import { printResult, remark, renderFacts } from '../../output/print.ts';

const COMMANDS = [
  {
    name: 'block',
    status: 'blocked',
    description: 'Let no key of a store in',
  },
  {
    name: 'unblock',
    status: 'active',
    description: 'Let the keys of a store in again',
  },
] as const;

export const statusCommands = () => COMMANDS.map(statusCommand);

function statusCommand({ name, status, description }: (typeof COMMANDS)[number]) {
  return new Command(name)
    .description(description)
    .argument('<store>', 'the store', readStoreId)
    .addOption(environmentOption('environment; needed where there are several'))
    .addOption(waitOption())
    .addOption(jsonOption())
    .action((storeId, flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        // Blocking does not wait for that.
        const looking = remarkUnknownStore(servers, environment, storeId);
        const { namePrefix } = servers.config;
        const subject = storeSubject(await servers.control(), namePrefix, environment, storeId);
        const about = { action: `stores.${name}`, environment, store_id: storeId } as const;
        const changing = changeAccess(servers, about, subject, {
          compose: () => ({ status }),
          waitMs: flags.wait * 1_000,
        });
        await Promise.allSettled([changing, looking]);
        const { changed } = await changing;
        if (!changed) remark(`note: it was ${status} already`);
        const { stores } = controlCollections(await servers.control());
        const blocked = isBlocked(await stores.findOne({ _id: storeAccessId(environment, storeId) }));
        if (status === 'active' && blocked) {
          remark('note: the store’s own record says "blocked", so it stays blocked until that changes');
        }
        printResult(
          flags,
          { store_id: storeId, environment, access_status: status, blocked, changed, live: true },
          renderFacts([
            ['store', storeId],
            ['environment', environment],
            ['status', blocked ? 'blocked' : 'active'],
          ]),
        );
      }),
    );
}
