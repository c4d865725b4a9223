/** An access key as something that commands change. */
import { type AccessKey, applyKeyChange, controlCollections } from '#shared/access/access-keys.ts';
import { publishAccess } from '#shared/access/grants.ts';
import { commandInvalid, notFound } from '#shared/errors.ts';
import type { AccessKeyData } from './announce.ts';
import type { Subject } from './change.ts';
import { keyIsLive } from './live.ts';

/** The subject of one `client_id`, whether it exists or is to be made. */
export function keySubject(clientId: string, prefix: string): Subject<AccessKeyData, AccessKey> {
  return {
    name: `key ${clientId}`,
    id: `access_key/${clientId}`,
    read: (control) => controlCollections(control).keys.findOne({ _id: clientId }),
    appliedOf: (key) => ({ sequence: key.sequence, state: stateOf(key), final: key.status === 'revoked' }),
    takesRights: (from, to) =>
      from.scopes.some((scope) => !to.scopes.includes(scope)) ||
      from.secret_sha256.some((hash) => !to.secret_sha256.includes(hash)),
    givesRights: (from, to) =>
      (to.status === 'active' && from?.status !== 'active') ||
      to.scopes.some((scope) => from?.scopes.includes(scope) !== true) ||
      to.secret_sha256.some((hash) => from?.secret_sha256.includes(hash) !== true),
    atTheLast: 'narrowed, deactivated or revoked',
    apply: (control, sequence, state) =>
      applyKeyChange(controlCollections(control).keys, state.environment, {
        kind: 'access_key',
        clientId,
        storeId: state.store_id,
        sequence,
        source: '',
        eventId: '',
        secretHashes: state.secret_sha256,
        secretExpiry: state.secret_expires_at ?? {},
        scopes: state.scopes,
        status: state.status,
      }),
    publish: (redis, control, key) =>
      publishAccess(redis, prefix, { key, keys: controlCollections(control).keys }),
    event: (sequence, { environment, store_id: storeId, ...data }) => ({
      entity: 'access_key',
      environment,
      storeId,
      subject: clientId,
      sequence,
      data,
    }),
    waitUntilLive: (wait) => keyIsLive(wait, clientId),
  };
}

function stateOf(key: AccessKey): AccessKeyData {
  return {
    environment: key.environment,
    store_id: key.store_id,
    secret_sha256: key.secret_hashes,
    scopes: key.scopes,
    status: key.status,
    ...(key.secret_expires_at === undefined ? {} : { secret_expires_at: key.secret_expires_at }),
  };
}

/** @throws {StoreDataError} `not_found`, or `command_invalid` where it is revoked and may not be. */
export function existingKey(
  clientId: string,
  key: AccessKeyData | null,
  options: { revoked: 'refuse' | 'accept' } = { revoked: 'refuse' },
): AccessKeyData {
  if (key === null) throw notFound(`there is no key ${clientId}`);
  if (key.status === 'revoked' && options.revoked === 'refuse') {
    throw commandInvalid(`key ${clientId} is revoked, which is final: make a new one`);
  }
  return key;
}
