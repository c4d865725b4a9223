/**
 * `keys create` and `keys rotate-secret`: new credentials, or those that a client has already. Old
 * and new secret are both valid.
 */
import { readFile } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';
import { validSecrets } from '#shared/access/access-keys.ts';
import { hashSecret, newClientId, newClientSecret } from '#shared/access/secrets.ts';
import { commandInvalid, StoreDataError } from '#shared/errors.ts';
import { remarkUnknownStore, type KeyState, existingKey } from '../../access/change.ts';
import { openServers } from '../../servers.ts';
import {
  clientId as readClientId,
  command,
  duration,
  oneEnvironmentOption,
  scopesOption,
  storeOption,
  waitOption,
  WrongUsage,
} from '../../options.ts';
import { isJson, remark } from '../../output.ts';
import { changeKey } from './rights.ts';

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
      const imported = await importedSecret(flags);
      await using servers = await openServers();
      const chosen = servers.environmentOf(flags);
      const { name: environment } = chosen;
      const { store: store_id, scopes } = flags;
      const clientId = flags.clientId ?? newClientId();
      const secret = imported ?? newClientSecret();
      const secret_hashes = [hashSecret(secret)];
      await remarkUnknownStore(chosen, store_id);
      const details = { scopes, secret: imported === null ? 'made' : 'brought' };
      const about = { action: 'keys.create', environment, store_id, details } as const;
      const compose = (before: KeyState | null): KeyState => {
        if (before === null)
          return { environment, store_id, secret_hashes, scopes, status: 'active' };
        throw commandInvalid(
          `client_id ${clientId} exists already: store ${before.store_id} in ${before.environment}, ${before.status}`,
        );
      };
      const fresh = { secret: imported === null ? secret : null };
      await changeKey(servers, clientId, flags, about, compose, fresh);
    });

interface SecretFlags {
  clientId?: string | undefined;
  secretFile?: string | undefined;
}

/** The operator's own secret; `null` if one is generated. */
async function importedSecret({ clientId, secretFile }: SecretFlags): Promise<string | null> {
  if (secretFile === undefined) return null;
  if (clientId === undefined) throw new WrongUsage('a secret of your own needs its --client-id');
  const secret = (await readSecret(secretFile)).replace(/\r?\n$/, '');
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

async function readSecret(file: string): Promise<string> {
  if (file === '-') return readText(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StoreDataError('not_found', `the secret file ${file} cannot be read`, {
      cause: error,
    });
  }
}

export const rotateSecretCommand = () =>
  command('rotate-secret', 'Give a key a new secret; the old one is valid until it is retired')
    .argument('<client_id>', 'the key', readClientId)
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
        const about = { action: 'keys.retire-secret' } as const;
        await changeKey(servers, clientId, flags, about, (before) =>
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
