/**
 * Reads and shows addresses of servers. An ambiguous one is not shown: any part of it may belong to
 * a password.
 */

export interface Address {
  /** With `://`; empty for a list of brokers. */
  scheme: string;
  hosts: string[];
  /**
   * From the slash on, without parameters: a database, or the name of a master behind sentinels.
   */
  path: string;
}

const SCHEME = /^(?:rediss?(?:\+(?:sentinel|cluster))?|mongodb(?:\+srv)?):\/\//i;
/** An address within a text, without the punctuation of the sentence around it. */
const IN_TEXT = new RegExp(
  String.raw`\b${SCHEME.source.slice(1)}[^\s"'\`<>]*[^\s"'\`<>,.;:)]`,
  'gi',
);
/** A name, an address, an encoded path of a socket. */
const HOST = /^(?:[\p{L}\p{N}._%-]+|\[[0-9a-f:.%]+\])(?::\d{1,5})?$/iu;
/** A database or a master: anything else belongs in parameters. */
const PATH = /^(?:\/[\w.%-]*)?$/;

/** User and password end with the last `@`. @returns `null` if the host is ambiguous. */
export function readAddress(text: string): Address | null {
  const [scheme = ''] = SCHEME.exec(text) ?? [];
  const rest = text.slice(scheme.length);
  const end = rest.search(/[/?#]/);
  const authority = end === -1 ? rest : rest.slice(0, end);
  const behind = end === -1 ? '' : rest.slice(end);
  const [path = '', ...parameters] = behind.split(/[?#]/);
  const hosts = authority.slice(authority.lastIndexOf('@') + 1).split(',');
  // An `@` behind the host: then the password holds a slash, a question mark or a hash.
  const isCertain =
    !behind.includes('@') && PATH.test(path) && hosts.every((host) => HOST.test(host));
  const hasFragment = behind.includes('#');
  return isCertain && !hasFragment && parameters.length <= 1 ? { scheme, hosts, path } : null;
}

export function shownAddress(text: string): string {
  const address = readAddress(text);
  if (address === null) return `${SCHEME.exec(text)?.[0] ?? ''}…`;
  return `${address.scheme}${address.hosts.join(',')}${address.path}`;
}

/** A foreign text, such as a driver's message, with safe forms of its addresses. */
export function withoutCredentials(text: string): string {
  return text.replace(IN_TEXT, shownAddress);
}

export interface RedisNode {
  host: string;
  port: number;
}

export interface RedisAddress {
  kind: 'server' | 'sentinel' | 'cluster';
  nodes: readonly [RedisNode, ...RedisNode[]];
  /** The master's name at the sentinels; empty without sentinels. */
  master: string;
  isSecure: boolean;
  /** The address of one server, with the given user, password and parameters. */
  urlOf: (node: RedisNode) => string;
}

const DEFAULT_PORTS = { server: 6379, sentinel: 26_379, cluster: 6379 };

export function readRedisAddress(text: string): RedisAddress | null {
  const groups = /^(?<scheme>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?<rest>.*)$/.exec(
    text,
  )?.groups;
  const address = readAddress(text);
  if (groups === undefined || address === null) return null;
  const { scheme, rest = '' } = groups;
  const kind = (groups['kind'] ?? 'server') as RedisAddress['kind'];
  const path = address.path.slice(1);
  // One server may have several databases, a cluster has one, and sentinels need the name of a
  // master.
  const isWhole = {
    server: address.hosts.length === 1,
    sentinel: path !== '',
    cluster: path === '',
  }[kind];
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
