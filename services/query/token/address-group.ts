/** Which addresses count as one: what one subscriber has is one IPv4 address, or the 2^64 of an IPv6 network. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

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
