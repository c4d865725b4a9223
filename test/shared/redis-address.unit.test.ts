import { describe, expect, it } from 'vitest';
import { readRedisAddress } from '#shared/address.ts';

const read = (text: string) => {
  const address = readRedisAddress(text);
  return address && { ...address, urlOf: undefined, urls: address.nodes.map((node) => address.urlOf(node)) };
};

describe('an address of Redis', () => {
  it('names one server', () => {
    for (const text of ['redis://host', 'redis://u:p@[::1]:1/3?family=6', 'rediss://:a@b@host:6380']) {
      expect(read(text)).toMatchObject({ kind: 'server', master: '', urls: [text] });
    }
    expect(read('rediss://h')?.isSecure).toBe(true);
  });

  it('names sentinels, and the master by its name there', () => {
    expect(read('redis+sentinel://u:p%2F@a,b:1,[::1],[::2]:3/main?family=6')).toMatchObject({
      kind: 'sentinel',
      master: 'main',
      isSecure: false,
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 1 },
        { host: '::1', port: 26_379 },
        { host: '::2', port: 3 },
      ],
      urls: [
        'redis://u:p%2F@a:26379?family=6',
        'redis://u:p%2F@b:1?family=6',
        'redis://u:p%2F@[::1]:26379?family=6',
        'redis://u:p%2F@[::2]:3?family=6',
      ],
    });
  });

  it('names nodes of a cluster', () => {
    expect(read('rediss+cluster://:a@b@h1:7000,h2/')).toMatchObject({
      kind: 'cluster',
      isSecure: true,
      urls: ['rediss://:a@b@h1:7000', 'rediss://:a@b@h2:6379'],
    });
  });

  it.each([
    'redis://a,b',
    'redis+sentinel://a',
    'redis+sentinel://a/',
    'redis+cluster://a/1',
    'redis+other://a/x',
    'redis+cluster://a,/',
    'http://a',
  ])('is not %s', (text) => {
    expect(readRedisAddress(text)).toBeNull();
  });
});
