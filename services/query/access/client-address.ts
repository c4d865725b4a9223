/**
 * The address of a client: that of the connection, or what trusted proxies say in X-Forwarded-For.
 */
import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { bearerToken } from './live-access.ts';
import type { TokenClaims } from './tokens.ts';

export type ClientAddress = (
  peer: string | undefined,
  forwardedFor: string | string[] | undefined,
) => string | undefined;

/**
 * @param trusted networks of proxies.
 * @param unreadable called once, with a proxy that forwarded something other than an address.
 */
export function clientAddresses(
  trusted: readonly string[],
  unreadable: (proxy: string) => void,
): ClientAddress {
  if (trusted.length === 0) return (peer) => peer;
  const networks = { trusted: trusted.map(networkOf) };
  const isTrusted = (address: string) =>
    ipaddr.subnetMatch(parseAddress(address), networks, 'other') === 'trusted';
  let isReported = false;
  return (peer, forwardedFor) => {
    if (peer === undefined || isIP(peer) === 0) return peer;
    const entries = [forwardedFor ?? []].flat().join(',').split(',').reverse();
    let nearest = peer;
    for (const entry of entries) {
      const text = entry.trim();
      if (text === '') continue;
      if (!isTrusted(nearest)) break;
      const address = readAddress(text);
      if (address === null) {
        // The proxy that sent it is the nearest known address.
        if (!isReported) unreadable(nearest);
        isReported = true;
        break;
      }
      nearest = address;
    }
    return nearest;
  };
}

/** The address in an entry, which may have a port, brackets or quotes; `null` for anything else. */
function readAddress(entry: string): string | null {
  const text = /^"(.*)"$/.exec(entry)?.[1] ?? entry;
  const address =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ??
    /^((?:::ffff:)?[\d.]+):\d{1,5}$/i.exec(text)?.[1] ??
    text;
  return isIP(address) === 0 ? null : address;
}

/**
 * The zone of a link-local address (`%eth0`) is left out: ipaddr.js throws at some that Node
 * accepts.
 */
function parseAddress(address: string) {
  return ipaddr.process(address.split('%', 1)[0] ?? '');
}

function networkOf(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const parsed = ipaddr.process(text);
  return [parsed, parsed.kind() === 'ipv4' ? 32 : 128];
}

/**
 * The address of a client, or its /64 network of IPv6. IPv4 as IPv6 (`::ffff:203.0.113.9`) is the
 * same address.
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined || isIP(address) === 0) return 'unknown';
  const parsed = parseAddress(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

/**
 * Names the sender, among which waiting requests are shared out: the store of a token verified
 * before, else the address.
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
