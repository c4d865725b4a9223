/**
 * Addresses of servers as they may be shown: `redis://:secret@host:6379/0?password=secret` is `redis://host:6379/0`. An
 * ambiguous address is not shown, since any part of it may belong to a password.
 */
export interface Address {
  /** With `://`; empty for a list of brokers. */
  scheme: string;
  /** `host`, `host:port`; one or more. */
  hosts: string[];
  /** From the slash on, without parameters: a database, or the name by which sentinels know a master. */
  path: string;
}

const SCHEME = /^(?:rediss?(?:\+(?:sentinel|cluster))?|mongodb(?:\+srv)?):\/\//i;
/** An address within a text, without the punctuation of the sentence around it. */
const IN_TEXT = new RegExp(String.raw`\b${SCHEME.source.slice(1)}[^\s"'\`<>]*[^\s"'\`<>,.;:)]`, 'gi');
/** A name, an address, an encoded path of a socket. */
const HOST = /^(?:[\p{L}\p{N}._%-]+|\[[0-9a-f:.%]+\])(?::\d{1,5})?$/iu;
/** Of a database or a master: anything else belongs into parameters. */
const PATH = /^(?:\/[\w.%-]*)?$/;

/**
 * Reads an address, or addresses without a scheme that are separated by commas. User and password end with the last `@`.
 * @returns `null` where it cannot be said for certain what is the host.
 */
export function readAddress(text: string): Address | null {
  const [scheme = ''] = SCHEME.exec(text) ?? [];
  const rest = text.slice(scheme.length);
  const end = rest.search(/[/?#]/);
  const authority = end === -1 ? rest : rest.slice(0, end);
  const behind = end === -1 ? '' : rest.slice(end);
  const [path = '', ...parameters] = behind.split(/[?#]/);
  const hosts = authority.slice(authority.lastIndexOf('@') + 1).split(',');
  // An `@` behind the host: then that was no host, but a password with a slash, a question mark or a hash in it.
  const isCertain = !behind.includes('@') && PATH.test(path) && hosts.every((host) => HOST.test(host));
  const hasFragment = behind.includes('#');
  return isCertain && !hasFragment && parameters.length <= 1 ? { scheme, hosts, path } : null;
}

/** An address without user, password and parameters. */
export function shownAddress(text: string): string {
  const address = readAddress(text);
  if (address === null) return `${SCHEME.exec(text)?.[0] ?? ''}…`;
  return `${address.scheme}${address.hosts.join(',')}${address.path}`;
}

/** A text that is not ours, such as a driver's message, with its addresses as they may be shown. */
export function withoutCredentials(text: string): string {
  return text.replace(IN_TEXT, shownAddress);
}
