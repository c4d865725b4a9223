/**
 * `keys list` and `show`; `keys scopes`, `revoke`, `deactivate` and `activate`, which also change
 * tokens already issued.
 */
import { Option } from '@commander-js/extra-typings';
import type { Filter } from 'mongodb';
import { type AccessKey, validSecrets } from '#shared/access/access-keys.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { asFailure, isUnavailable, notFound, StoreDataError } from '#shared/errors.ts';
import { KEY_STATUSES } from '#shared/events/access-event.ts';
import { pipelined } from '#shared/redis-masters.ts';
import {
  type About,
  changeAccess,
  type Changed,
  IncompleteChange,
  type KeyState,
  existingKey,
  keySubject,
} from '../../access/change.ts';
import { openServers, type Servers } from '../../servers.ts';
import {
  clientId as readClientId,
  command,
  environmentOption,
  limitOption,
  scopesOption,
  storeOption,
  waitOption,
} from '../../options.ts';
import { printFacts, printRows, remark, formatAge } from '../../output.ts';

export const listCommand = () =>
  command('list', 'List keys, never their secrets')
    .addOption(storeOption('only those of a store'))
    .addOption(environmentOption('only those of an environment'))
    .addOption(new Option('--status <status>', 'only those with a status').choices(KEY_STATUSES))
    .addOption(limitOption(100))
    .action(async (flags) => {
      await using servers = await openServers();
      const filter: Filter<AccessKey> = {
        environment: { $in: servers.environmentsOf(flags).map(({ name }) => name) },
        ...(flags.store === undefined ? {} : { store_id: flags.store }),
        ...(flags.status === undefined ? {} : { status: flags.status }),
      };
      const { keys } = await servers.access();
      const sort = { environment: 1, store_id: 1, _id: 1 } as const;
      const found = await keys.find(filter, { sort, limit: flags.limit + 1 }).toArray();
      const last = await readLastTokens(servers, found);
      const rows = found.map((key) => toJson(key, last));
      const lastToken = ({ last_token_at: at }: (typeof rows)[number]) =>
        at && `${formatAge(at)} ago`;
      const columns = [
        'client_id',
        'store_id',
        'environment',
        'status',
        ['SCOPES', 'scopes'],
      ] as const;
      printRows(rows, [...columns, ['LAST TOKEN', lastToken]], flags.limit);
    });

/** When keys last got a token, in milliseconds, by `client_id`; without those that Redis lacks. */
type LastTokens = ReadonlyMap<string, number>;

async function readLastTokens(servers: Servers, keys: readonly AccessKey[]): Promise<LastTokens> {
  const { namePrefix } = servers.config;
  const sets = new Set(
    keys.map((key) => redisKeys(namePrefix, key.environment, key.store_id).lastTokens),
  );
  try {
    const found = await pipelined(
      await servers.redis(),
      [...sets],
      (set) => set,
      (commands, set) => commands.zrange(set, '0', '-1', 'WITHSCORES'),
    );
    const last = new Map<string, number>();
    for (const flat of found as string[][]) {
      for (let at = 0; at < flat.length; at += 2) last.set(flat[at] ?? '', Number(flat[at + 1]));
    }
    return last;
  } catch (error) {
    if (!isUnavailable(error) && !(error instanceof StoreDataError)) throw error;
    remark(`note: the last tokens of keys are unknown: ${asFailure(error).message}`);
    return new Map();
  }
}

function toJson(key: AccessKey, last: LastTokens) {
  const secrets = validSecrets(key);
  const ends = secrets.map((hash) => key.secret_expires_at?.[hash]);
  const at = last.get(key._id);
  return {
    client_id: key._id,
    store_id: key.store_id,
    environment: key.environment,
    status: key.status,
    scopes: key.scopes,
    secrets: secrets.length,
    // Of two secrets one may have a deadline.
    old_secret_ends_at: ends.find((end) => end !== undefined) ?? null,
    sequence: key.sequence,
    in_redis: key.publish_pending === undefined,
    updated_at: key.updated_at,
    last_token_at: at === undefined ? null : new Date(at),
  };
}

const keyCommand = (name: string, description: string) =>
  command(name, description).argument('<client_id>', 'the key', readClientId);

export const showCommand = () =>
  keyCommand('show', 'Show a key, never its secrets').action(async (clientId) => {
    await using servers = await openServers();
    const { keys } = await servers.access();
    const key = await keys.findOne({ _id: clientId });
    if (key === null) throw notFound(`there is no key ${clientId}`);
    printFacts(toJson(key, await readLastTokens(servers, [key])));
  });

export const scopesCommand = () =>
  keyCommand('scopes', 'Replace the scopes of a key')
    .addOption(
      scopesOption('--set <list>', 'all its scopes, separated by commas').makeOptionMandatory(),
    )
    .addOption(waitOption())
    .action(async (clientId, flags) => {
      await using servers = await openServers();
      const about = { action: 'keys.scopes', details: { scopes: flags.set } } as const;
      await changeKey(servers, clientId, flags, about, (before) => ({
        ...existingKey(clientId, before),
        scopes: flags.set,
      }));
    });

const STATUS_COMMANDS = [
  ['revoke', 'revoked', 'End a key for good'],
  ['deactivate', 'inactive', 'Suspend a key until it is activated'],
  ['activate', 'active', 'Let a suspended key in again'],
] as const;

export const statusCommands = () =>
  STATUS_COMMANDS.map(([name, status, description]) =>
    keyCommand(name, description)
      .addOption(waitOption())
      .action(async (clientId, flags) => {
        await using servers = await openServers();
        const about = { action: `keys.${name}` } as const;
        const { changed } = await changeKey(servers, clientId, flags, about, (before) => ({
          ...existingKey(clientId, before, status === 'revoked'),
          status,
        }));
        if (!changed) remark(`note: it was ${status} already`);
      }),
  );

/**
 * @param fresh new credentials: a generated secret is shown, and stored nowhere.
 * @throws as `changeAccess`.
 */
export async function changeKey(
  servers: Servers,
  clientId: string,
  flags: { wait: number },
  about: About,
  compose: (before: KeyState | null) => KeyState,
  fresh?: { secret: string | null },
): Promise<Changed<KeyState>> {
  const subject = keySubject(await servers.access(), clientId);
  const show = (state: KeyState, changed: boolean, live: boolean) => {
    const {
      environment,
      store_id,
      scopes,
      status,
      secret_hashes: hashes,
      secret_expires_at: ends,
    } = state;
    const [, old] = hashes;
    const secret = fresh?.secret ?? null;
    printFacts({
      client_id: clientId,
      ...(secret !== null && { client_secret: secret }),
      store_id,
      environment,
      scopes,
      status,
      ...(old !== undefined && { old_secret_ends_at: ends?.[old] ?? null }),
      changed,
      live,
    });
  };
  try {
    const changed = await changeAccess(
      servers,
      { client_id: clientId, ...about },
      subject,
      compose,
      flags.wait * 1_000,
    );
    show(changed.state, changed.changed, true);
    return changed;
  } catch (error) {
    // The change is in MongoDB; its secret is nowhere else.
    if (fresh !== undefined && error instanceof IncompleteChange) {
      show(error.state as KeyState, true, false);
    }
    throw error;
  }
}
