/** `keys list`: the keys as they are applied. */
import { Command, Option } from '@commander-js/extra-typings';
import type { Filter } from 'mongodb';
import { type AccessKey, controlCollections, validSecrets } from '#shared/access/access-keys.ts';
import { KEY_STATUSES } from '#shared/events/access-event.ts';
import { withServers } from '../../connection/servers.ts';
import {
  chooseEnvironments,
  clientId as readClientId,
  environmentOption,
  jsonOption,
  limitOption,
  storeOption,
} from '../../options.ts';
import { printResult, remark, renderFacts, tableOf } from '../../output/print.ts';
import { notFound } from '#shared/errors.ts';

export const listCommand = () =>
  new Command('list')
    .description('List keys, never their secrets')
    .addOption(storeOption('only those of a store'))
    .addOption(environmentOption('only those of an environment'))
    .addOption(new Option('--status <status>', 'only those with a status').choices(KEY_STATUSES))
    .addOption(limitOption(100))
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const filter: Filter<AccessKey> = {
          environment: { $in: chooseEnvironments(servers.config, flags.environment) },
          ...(flags.store === undefined ? {} : { store_id: flags.store }),
          ...(flags.status === undefined ? {} : { status: flags.status }),
        };
        const { keys } = controlCollections(await servers.control());
        const found = await keys
          .find(filter, { sort: { environment: 1, store_id: 1, _id: 1 }, limit: flags.limit + 1 })
          .toArray();
        const shown = found.slice(0, flags.limit);
        printResult(flags, shown.map(toJson), shown.length === 0 ? 'no keys' : toTable(shown));
        if (found.length > shown.length) remark(`there are more than ${flags.limit}: --limit shows more`);
      }),
    );

function toTable(keys: AccessKey[]): string {
  return tableOf(keys, [
    ['CLIENT_ID', ({ _id }) => _id],
    ['STORE', ({ store_id }) => store_id],
    ['ENVIRONMENT', ({ environment }) => environment],
    ['STATUS', ({ status }) => status],
    ['SCOPES', ({ scopes }) => scopes.join(' '), 'fills'],
  ]);
}

/** A key for programs. */
export function toJson(key: AccessKey) {
  return {
    client_id: key._id,
    store_id: key.store_id,
    environment: key.environment,
    status: key.status,
    scopes: key.scopes,
    secrets: validSecrets(key).length,
    old_secret_ends_at: endOfOldSecret(key),
    sequence: key.sequence,
    in_redis: key.publish_pending === undefined,
    updated_at: key.updated_at,
  };
}

/** When the one of two secrets ends that has a deadline; `null` where none has. */
function endOfOldSecret(key: AccessKey): string | null {
  const ends = validSecrets(key).map((hash) => key.secret_expires_at?.[hash]);
  return ends.find((end) => end !== undefined) ?? null;
}

export const showCommand = () =>
  new Command('show')
    .description('Show a key, never its secrets')
    .argument('<client_id>', 'the key', readClientId)
    .addOption(jsonOption())
    .action((clientId, flags) =>
      withServers(async (servers) => {
        const { keys } = controlCollections(await servers.control());
        const key = await keys.findOne({ _id: clientId });
        if (key === null) throw notFound(`there is no key ${clientId}`);
        const { secrets, old_secret_ends_at: ends, in_redis: isInRedis } = toJson(key);
        printResult(
          flags,
          toJson(key),
          renderFacts([
            ['client_id', clientId],
            ['store', key.store_id],
            ['environment', key.environment],
            ['scopes', key.scopes.join(' ') || '(none)'],
            ['status', isInRedis ? key.status : `${key.status} (not live yet)`],
            ['secrets', ends === null ? String(secrets) : `${secrets}, the older one until ${ends}`],
            ['sequence', String(key.sequence)],
            ['changed', key.updated_at.toISOString()],
          ]),
        );
      }),
    );
