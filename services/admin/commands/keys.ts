/**
 * `keys`: lists keys; changes their scopes and status, which also changes tokens already issued;
 * makes credentials, or takes those that a client has already. Old and new secret are both valid.
 */
import { type AccessKey, validSecrets } from '#shared/access/access-keys.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { hashSecret, newClientId, newClientSecret } from '#shared/access/secrets.ts';
import {
  asFailure,
  isUnavailable,
  notFound,
  StoreDataError,
  commandInvalid,
} from '#shared/errors.ts';
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
  remarkUnknownStore,
} from '../access/change.ts';
import {
  clientId as readClientId,
  command,
  environmentOption,
  limitOption,
  scopesOption,
  storeOption,
  waitOption,
  duration,
  oneEnvironmentOption,
  WrongUsage,
} from '../options.ts';
import { printFacts, printRows, remark, formatAge, isJson } from '../output.ts';
import { openEnvironment, openServers, type Servers } from '../servers.ts';
import { Option } from '@commander-js/extra-typings';
import type { Filter } from 'mongodb';
import { readFile } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';

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
        ...(flags.store && { store_id: flags.store }),
        ...(flags.status && { status: flags.status }),
      };
      const { keys } = await servers.access();
      const sort = { environment: 1, store_id: 1, _id: 1 } as const;
      const found = await keys.find(filter, { sort, limit: flags.limit + 1 }).toArray();
      const last = await readLastTokens(servers, found);
      const rows = found.map((key) => toJson(key, last));
      printRows(
        rows,
        [
          'client_id',
          'store_id',
          'environment',
          'status',
          'scopes',
          ['LAST TOKEN', ({ last_token_at: at }) => at && `${formatAge(at)} ago`],
        ],
        flags.limit,
      );
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
        const { changed } = await changeKey(
          servers,
          clientId,
          flags,
          { action: `keys.${name}` },
          (before) => ({
            ...existingKey(clientId, before, status === 'revoked'),
            status,
          }),
        );
        if (!changed) remark(`note: it was ${status} already`);
      }),
  );

/**
 * @param fresh new credentials: a generated secret is shown, and stored nowhere.
 * @throws as `changeAccess`.
 */
async function changeKey(
  servers: Servers,
  clientId: string,
  flags: { wait: number },
  about: About,
  compose: (before: KeyState | null) => KeyState,
  fresh?: { secret: string | null },
): Promise<Changed<KeyState>> {
  const subject = keySubject(await servers.access(), clientId);
  const show = (state: KeyState, changed: boolean, live: boolean) => {
    const { environment, store_id, scopes, status, secret_expires_at: ends } = state;
    const [, old] = state.secret_hashes;
    printFacts({
      client_id: clientId,
      ...(fresh?.secret && { client_secret: fresh.secret }),
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
    const changed = await changeAccess(servers, about, subject, compose, flags.wait * 1_000);
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

/** Shorter ones, which only operators bring, can be guessed from their hash. */
const MIN_SAFE_SECRET_LENGTH = 22;
const MAX_SECRET_LENGTH = 1_024;

export const createCommand = () =>
  command('create', 'Make a key; it is live when the command ends')
    .addOption(storeOption('store whose data it may read').makeOptionMandatory())
    .addOption(oneEnvironmentOption())
    .addOption(
      scopesOption(
        '--scopes <list>',
        'what it may read, separated by commas',
      ).makeOptionMandatory(),
    )
    .option('--client-id <id>', 'the id of credentials that exist already', readClientId)
    .option('--secret-file <file>', 'file with the secret of --client-id; "-" is standard input')
    .addOption(waitOption())
    .action(async (flags) => {
      const { store: store_id, scopes, secretFile } = flags;
      if (secretFile !== undefined && flags.clientId === undefined)
        throw new WrongUsage('a secret of your own needs its --client-id');
      const imported = secretFile === undefined ? null : await readSecret(secretFile);
      await using chosen = await openEnvironment(flags);
      const { servers, name: environment } = chosen;
      const clientId = flags.clientId ?? newClientId();
      const secret = imported ?? newClientSecret();
      await remarkUnknownStore(chosen, store_id);
      const details = { scopes, secret: imported === null ? 'made' : 'brought' };
      const about = { action: 'keys.create', environment, store_id, details } as const;
      const compose = (before: KeyState | null): KeyState => {
        if (before === null)
          return {
            environment,
            store_id,
            secret_hashes: [hashSecret(secret)],
            scopes,
            status: 'active',
          };
        throw commandInvalid(
          `client_id ${clientId} exists already: store ${before.store_id} in ${before.environment}, ${before.status}`,
        );
      };
      await changeKey(servers, clientId, flags, about, compose, {
        secret: imported === null ? secret : null,
      });
    });

/** The operator's own secret. */
async function readSecret(file: string): Promise<string> {
  const reading = file === '-' ? readText(process.stdin) : readFile(file, 'utf8');
  const text = await reading.catch((cause: unknown) => {
    throw new StoreDataError('not_found', `the secret file ${file} cannot be read`, { cause });
  });
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '' || secret.length > MAX_SECRET_LENGTH || /\p{Cc}/u.test(secret)) {
    throw new WrongUsage(
      `the secret must be one line of 1 to ${MAX_SECRET_LENGTH} characters without control characters`,
    );
  }
  if (secret.length < MIN_SAFE_SECRET_LENGTH) {
    remark(
      `note: a secret of less than ${MIN_SAFE_SECRET_LENGTH} characters can be guessed from its hash`,
    );
  }
  return secret;
}

export const rotateSecretCommand = () =>
  keyCommand('rotate-secret', 'Give a key a new secret; the old one is valid until it is retired')
    .option('--retire-old', 'make no new secret: end the older of the two, at once')
    .option('--retire-old-after <time>', 'end the old secret after a time such as 24h', duration)
    .addOption(waitOption())
    .action(async (clientId, flags) => {
      const { retireOld, retireOldAfter } = flags;
      if (retireOld && retireOldAfter !== undefined) {
        throw new WrongUsage('--retire-old and --retire-old-after exclude each other');
      }
      await using servers = await openServers();
      if (retireOld) {
        await changeKey(servers, clientId, flags, { action: 'keys.retire-secret' }, (before) =>
          withoutOldSecret(clientId, before),
        );
        if (!isJson()) remark('the old secret is retired; its tokens are valid until they expire');
        return;
      }
      const secret = newClientSecret();
      const hash = hashSecret(secret);
      const end =
        retireOldAfter === undefined ? null : new Date(Date.now() + retireOldAfter).toISOString();
      const about = { action: 'keys.rotate-secret', details: { old_secret_ends_at: end } } as const;
      const compose = (before: KeyState | null) => withNewSecret(clientId, before, hash, end);
      await changeKey(servers, clientId, flags, about, compose, { secret });
    });

/** An existing key without deadlines, its valid secrets, and their deadlines. */
function secretsOf(clientId: string, before: KeyState | null) {
  const existing = existingKey(clientId, before);
  const { secret_expires_at: ends = {}, ...key } = existing;
  return { key, ends, secrets: validSecrets(existing) };
}

function withoutOldSecret(clientId: string, before: KeyState | null): KeyState {
  const { key, secrets } = secretsOf(clientId, before);
  const [newest, ...old] = secrets;
  if (newest !== undefined && old.length > 0) return { ...key, secret_hashes: [newest] };
  throw commandInvalid(
    `key ${clientId} has no older secret to retire: "keys rotate-secret ${clientId}" makes a new one, ` +
      `and "keys revoke ${clientId}" ends the key`,
  );
}

/** @param end when the old secret ends; `null` leaves that to `--retire-old`. */
function withNewSecret(
  clientId: string,
  before: KeyState | null,
  hash: string,
  end: string | null,
): KeyState {
  const { key, ends, secrets } = secretsOf(clientId, before);
  const [old, ...more] = secrets;
  if (more.length > 0) {
    const [known] = Object.values(ends);
    throw commandInvalid(
      `key ${clientId} has two secrets already${known === undefined ? '' : `, the old one until ${known}`}: ` +
        `retire the old one first, with "keys rotate-secret ${clientId} --retire-old"`,
    );
  }
  if (old === undefined) return { ...key, secret_hashes: [hash] };
  const until = end ?? ends[old];
  const deadline = until === undefined ? {} : { secret_expires_at: { [old]: until } };
  return { ...key, secret_hashes: [hash, old], ...deadline };
}
