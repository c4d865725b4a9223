/** Names the sender of a request before anything is verified: by it, what is in flight and waits is shared out. */
import type { IncomingMessage } from 'node:http';
import { bearerToken } from '../access/steps.ts';
import type { TokenClaims } from '../access/tokens.ts';
import { addressGroup, type ClientAddress } from './failed-authentications.ts';

/**
 * Makes the naming of senders.
 * @param claimsOf the claims of a token that was verified before; `undefined` of any other.
 * @param addressOf the client's address, behind trusted proxies the one that they saw.
 * @returns the store of a token that was verified before, else the client's address.
 */
export function senders(
  claimsOf: (token: string) => TokenClaims | undefined,
  addressOf: ClientAddress,
): (request: IncomingMessage) => string {
  return ({ headers, socket }) => {
    const token = bearerToken(headers.authorization);
    const claims = token === null ? undefined : claimsOf(token);
    if (claims !== undefined) return `store ${claims.environment} ${claims.storeId}`;
    return `address ${addressGroup(addressOf(socket.remoteAddress, headers['x-forwarded-for']))}`;
  };
}
