/** What `REDIS_URL` names: one server, the sentinels that know which server is the master, or some nodes of a cluster. */
import { readAddress } from './address.ts';

export interface RedisNode {
  host: string;
  port: number;
}

export interface RedisAddress {
  kind: 'server' | 'sentinel' | 'cluster';
  nodes: readonly [RedisNode, ...RedisNode[]];
  /** The name by which sentinels know the master; empty without sentinels. */
  master: string;
  isSecure: boolean;
  /** What leads to a server, with user, password and parameters as they were given. */
  urlOf: (node: RedisNode) => string;
}

const DEFAULT_PORTS = { server: 6379, sentinel: 26_379, cluster: 6379 };

/** Parses an address. @returns `null` where it is invalid or incomplete. */
export function readRedisAddress(text: string): RedisAddress | null {
  const groups = /^(?<scheme>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?<rest>.*)$/.exec(text)?.groups;
  const address = readAddress(text);
  if (groups === undefined || address === null) return null;
  const { scheme, rest = '' } = groups;
  const kind = (groups['kind'] ?? 'server') as RedisAddress['kind'];
  const path = address.path.slice(1);
  // One server may have several databases; a cluster has one, and sentinels are asked for a name.
  const isWhole = { server: address.hosts.length === 1, sentinel: path !== '', cluster: path === '' }[kind];
  const [first, ...more] = address.hosts.map((host) => nodeOf(host, DEFAULT_PORTS[kind]));
  if (!isWhole || first === undefined) return null;
  const credentials = /^(?:[^/?#]*@)?/.exec(rest)?.[0] ?? '';
  const parameters = /\?.*$/.exec(rest)?.[0] ?? '';
  const urlOf = ({ host, port }: RedisNode) =>
    `${scheme}://${credentials}${host.includes(':') ? `[${host}]` : host}:${port}${parameters}`;
  return {
    kind,
    nodes: [first, ...more],
    master: kind === 'sentinel' ? path : '',
    isSecure: scheme === 'rediss',
    urlOf: kind === 'server' ? () => text : urlOf,
  };
}

function nodeOf(text: string, fallback: number): RedisNode {
  const [, host = '', port] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(text) ?? [];
  return { host, port: port === undefined ? fallback : Number(port) };
}
