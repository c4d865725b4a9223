/** `keys rotate-secret`: a new secret beside the old one, which ends when nobody needs it any longer. */
import type { Command } from 'commander';
import { validSecrets } from '#shared/access/access-keys.ts';
import { hashSecret, newClientSecret } from '#shared/access/secrets.ts';
import { StoreDataError } from '#shared/errors.ts';
import type { AccessKeyData } from '../../access/announce.ts';
import { NotLiveYet } from '../../access/change.ts';
import { existingKey } from '../../access/existing-key.ts';
import { keySubject } from '../../access/key-subject.ts';
import { auditedChange } from '../../audit/audited-change.ts';
import { type Servers, withServers } from '../../connection/servers.ts';
import { clientId as readClientId, duration, jsonOption, waitOption, WrongUsage } from '../../options.ts';
import { remark } from '../../output/print.ts';
import { printKey } from './print-key.ts';

interface Flags {
  retireOld?: true;
  /** Milliseconds. */
  retireOldAfter?: number;
  wait: number;
  json?: true;
}

const EXAMPLES = `
Both secrets count until the old one is retired, so that clients can change
over one by one. Tokens already issued live on. The new secret is printed once
and stored nowhere.

Examples:
  npm run store-data -- keys rotate-secret 5Q2ncPBXlYsKEvoH3RwTgm8d
  npm run store-data -- keys rotate-secret 5Q2ncPBXlYsKEvoH3RwTgm8d --retire-old
  npm run store-data -- keys rotate-secret 5Q2ncPBXlYsKEvoH3RwTgm8d \\
    --retire-old-after 24h`;

export function addRotateSecretCommand(keys: Command): void {
  keys
    .command('rotate-secret')
    .description('Give a key a new secret; the old one counts until it is retired')
    .argument('<client_id>', 'the key', readClientId)
    .option('--retire-old', 'make no new secret: end the older of the two, at once')
    .option('--retire-old-after <time>', 'let the old secret end by itself, such as after 24h', duration)
    .addOption(waitOption())
    .addOption(jsonOption())
    .addHelpText('after', EXAMPLES)
    .action(async (clientId: string, flags: Flags) => {
      if (flags.retireOld && flags.retireOldAfter !== undefined) {
        throw new WrongUsage('--retire-old and --retire-old-after exclude each other');
      }
      await withServers((servers) =>
        flags.retireOld ? retire(servers, clientId, flags) : rotate(servers, clientId, flags),
      );
    });
}

async function rotate(servers: Servers, clientId: string, flags: Flags): Promise<void> {
  const secret = newClientSecret();
  const hash = hashSecret(secret);
  const end =
    flags.retireOldAfter === undefined ? null : new Date(Date.now() + flags.retireOldAfter).toISOString();
  const shown = { json: flags.json === true, secret };
  try {
    const about = {
      action: 'keys.rotate-secret',
      client_id: clientId,
      details: { old_secret_ends_at: end },
    } as const;
    const changed = await auditedChange(servers, about, keySubject(clientId, servers.config.namePrefix), {
      compose: (before) => withNewSecret(clientId, existingKey(clientId, before), hash, end),
      holds: ({ secret_sha256: hashes }) => hashes.includes(hash),
      waitMs: flags.wait * 1_000,
    });
    printKey(clientId, changed, shown);
  } catch (error) {
    // The secret is on its way, and nowhere else.
    if (error instanceof NotLiveYet && 'scopes' in error.state) {
      printKey(clientId, { state: error.state, changed: true, live: false }, shown);
    }
    throw error;
  }
}

/** Ends the secret that came first. It takes a right away, so it counts at once, without a projector. */
async function retire(servers: Servers, clientId: string, flags: Flags): Promise<void> {
  let retired: string[] = [];
  const about = { action: 'keys.retire-secret', client_id: clientId } as const;
  const changed = await auditedChange(servers, about, keySubject(clientId, servers.config.namePrefix), {
    compose: (before) => {
      const key = existingKey(clientId, before);
      const [newest, ...old] = secretsOf(key);
      if (newest === undefined || old.length === 0) throw nothingToRetire(clientId);
      retired = old;
      return { ...withoutExpiry(key), secret_sha256: [newest] };
    },
    holds: ({ secret_sha256: hashes }) => !retired.some((hash) => hashes.includes(hash)),
    waitMs: flags.wait * 1_000,
  });
  printKey(clientId, changed, { json: flags.json === true });
  if (!flags.json) remark('the old secret is retired; tokens that it got live on until they expire');
}

/** @param end when the old secret ends; `null` leaves that to `--retire-old`. */
function withNewSecret(
  clientId: string,
  key: AccessKeyData,
  hash: string,
  end: string | null,
): AccessKeyData {
  const [old, ...more] = secretsOf(key);
  if (more.length > 0) throw twoAlready(clientId, key);
  const state = { ...withoutExpiry(key), secret_sha256: old === undefined ? [hash] : [hash, old] };
  const known = old === undefined ? undefined : key.secret_expires_at?.[old];
  const ends = end ?? known;
  return old === undefined || ends === undefined ? state : { ...state, secret_expires_at: { [old]: ends } };
}

function secretsOf({ secret_sha256, secret_expires_at }: AccessKeyData): string[] {
  return validSecrets({
    secret_hashes: secret_sha256,
    ...(secret_expires_at === undefined ? {} : { secret_expires_at }),
  });
}

function withoutExpiry({ secret_expires_at: _ends, ...rest }: AccessKeyData): AccessKeyData {
  return rest;
}

function twoAlready(clientId: string, { secret_expires_at: expiry }: AccessKeyData): StoreDataError {
  const [end] = Object.values(expiry ?? {});
  return new StoreDataError(
    'command_invalid',
    `key ${clientId} has two secrets already${end === undefined ? '' : `, the old one until ${end}`}: end the old one first, with "keys rotate-secret ${clientId} --retire-old"`,
  );
}

function nothingToRetire(clientId: string): StoreDataError {
  return new StoreDataError(
    'command_invalid',
    `key ${clientId} has no older secret to retire: "keys rotate-secret ${clientId}" makes a new one, and "keys revoke ${clientId}" ends the key`,
  );
}
