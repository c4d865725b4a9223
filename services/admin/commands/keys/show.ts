/** `keys show`: a key as it is applied. */
import { Command } from '@commander-js/extra-typings';
import { controlCollections } from '#shared/access/access-keys.ts';
import { notFound } from '#shared/errors.ts';
import { withServers } from '../../connection/servers.ts';
import { clientId as readClientId, jsonOption } from '../../options.ts';
import { printResult, renderFacts } from '../../output/print.ts';
import { toJson } from './list.ts';

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
