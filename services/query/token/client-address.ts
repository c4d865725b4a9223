/**
 * A client's address: the peer's, or behind trusted proxies the one that the last of them saw. And which addresses count as one: what one
 * subscriber has is one IPv4 address, or the 2^64 of an IPv6 network.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The address of a client.
 * @param peer the other end of the connection.
 * @param forwardedFor the header `X-Forwarded-For`: each proxy adds whom it saw at its end.
 */
export type ClientAddress = (
  peer: string | undefined,
  forwardedFor: string | string[] | undefined,
) => string | undefined;

/**
 * Makes the finding of addresses.
 * @param trusted addresses and networks of proxies that are believed.
 * @param unreadable told, once, of a proxy that forwarded something that is no address.
 */
export function clientAddresses(
  trusted: readonly string[],
  unreadable: (proxy: string) => void,
): ClientAddress {
  if (trusted.length === 0) return (peer) => peer;
  const networks = { trusted: trusted.map((text) => networkOf(text)) };
  const isTrusted = (address: string) =>
    ipaddr.subnetMatch(ipaddr.process(address), networks, 'other') === 'trusted';
  let told = false;
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
        // Who sent it is the last that is known: clients of other proxies do not share an address with it.
        if (!told) unreadable(nearest);
        told = true;
        break;
      }
      nearest = address;
    }
    return nearest;
  };
}

/** An entry as proxies write it: an address, perhaps with a port, in brackets or quotes. `null` where it is none. */
function readAddress(entry: string): string | null {
  const text = /^"(.*)"$/.exec(entry)?.[1] ?? entry;
  const address =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ??
    /^((?:::ffff:)?[\d.]+):\d{1,5}$/i.exec(text)?.[1] ??
    text;
  return isIP(address) === 0 ? null : address;
}

function networkOf(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const parsed = ipaddr.process(text);
  return [parsed, parsed.kind() === 'ipv4' ? 32 : 128];
}

/**
 * The address or network of a client. An IPv4 address that came as IPv6 (`::ffff:203.0.113.9`) is the
 * same one. What a proxy sent that is no address falls into one group.
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined || isIP(address) === 0) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
