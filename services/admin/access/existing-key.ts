/** The key that a command changes: it must be there, and not be revoked. */
import { StoreDataError } from '#shared/errors.ts';
import type { AccessKeyData } from './announce.ts';

/** @throws {StoreDataError} `not_found`, or `command_invalid` where it is revoked and may not be. */
export function existingKey(
  clientId: string,
  key: AccessKeyData | null,
  options: { revoked: 'refuse' | 'accept' } = { revoked: 'refuse' },
): AccessKeyData {
  if (key === null) throw new StoreDataError('not_found', `there is no key ${clientId}`);
  if (key.status === 'revoked' && options.revoked === 'refuse') {
    throw new StoreDataError('command_invalid', `key ${clientId} is revoked, which is final: make a new one`);
  }
  return key;
}
