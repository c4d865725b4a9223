/** `keys rotate-secret`: a new secret beside the old one, which ends when nobody needs it any longer. */
import { Command } from '@commander-js/extra-typings';
import { validSecrets } from '#shared/access/access-keys.ts';
import { hashSecret, newClientSecret } from '#shared/access/secrets.ts';
import { commandInvalid, type StoreDataError } from '#shared/errors.ts';
import { type AccessKeyData, existingKey } from '../../access/subject.ts';
import { type Servers, withServers } from '../../connection/servers.ts';
import { clientId as readClientId, duration, jsonOption, waitOption, WrongUsage } from '../../options.ts';
import { remark } from '../../output/print.ts';
import { changeKey } from './rights.ts';

export const rotateSecretCommand = () =>
  new Command('rotate-secret')
    .description('Give a key a new secret; the old one counts until it is retired')
    .argument('<client_id>', 'the key', readClientId)
    .option('--retire-old', 'make no new secret: end the older of the two, at once')
    .option('--retire-old-after <time>', 'let the old secret end by itself, such as after 24h', duration)
    .addOption(waitOption())
    .addOption(jsonOption())
    .action(async (clientId, flags) => {
      if (flags.retireOld && flags.retireOldAfter !== undefined) {
        throw new WrongUsage('--retire-old and --retire-old-after exclude each other');
      }
      await withServers((servers) =>
        flags.retireOld ? retire(servers, clientId, flags) : rotate(servers, clientId, flags),
      );
    });

interface Flags {
  /** Milliseconds. */
  retireOldAfter?: number | undefined;
  wait: number;
  json?: true | undefined;
}

async function rotate(servers: Servers, clientId: string, flags: Flags): Promise<void> {
  const secret = newClientSecret();
  const hash = hashSecret(secret);
  const end =
    flags.retireOldAfter === undefined ? null : new Date(Date.now() + flags.retireOldAfter).toISOString();
  const about = { action: 'keys.rotate-secret', details: { old_secret_ends_at: end } } as const;
  const change = {
    compose: (before: AccessKeyData | null) =>
      withNewSecret(clientId, existingKey(clientId, before), hash, end),
  };
  await changeKey(servers, clientId, flags, about, change, { secret });
}

/** Ends the secret that came first. It takes a right away, so it counts at once, without a projector. */
async function retire(servers: Servers, clientId: string, flags: Flags): Promise<void> {
  await changeKey(
    servers,
    clientId,
    flags,
    { action: 'keys.retire-secret' },
    {
      compose: (before) => {
        const key = existingKey(clientId, before);
        const [newest, ...old] = secretsOf(key);
        if (newest === undefined || old.length === 0) throw nothingToRetire(clientId);
        return { ...withoutExpiry(key), secret_sha256: [newest] };
      },
    },
  );
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
  return commandInvalid(
    `key ${clientId} has two secrets already${end === undefined ? '' : `, the old one until ${end}`}: end the old one first, with "keys rotate-secret ${clientId} --retire-old"`,
  );
}

function nothingToRetire(clientId: string): StoreDataError {
  return commandInvalid(
    `key ${clientId} has no older secret to retire: "keys rotate-secret ${clientId}" makes a new one, and "keys revoke ${clientId}" ends the key`,
  );
}
