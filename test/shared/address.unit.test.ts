import { describe, expect, it } from 'vitest';
import { words } from '#test/words.ts';
import {
  readAddress,
  readRedisAddress,
  shownAddress,
  withoutCredentials,
} from '#shared/address.ts';

describe('a printed address', () => {
  it.each([
    ['redis://host:6379/0', 'redis://host:6379/0'],
    ['redis://:secret@host:6379/0', 'redis://host:6379/0'],
    ['redis://:abc@tail@host', 'redis://host'],
    ['rediss://user:a:b@c@d@host:6380', 'rediss://host:6380'],
    ['redis://host/0?username=u&password=secret', 'redis://host/0'],
    ['redis://:p%40ss%2Fword@[::1]:6379', 'redis://[::1]:6379'],
    ['redis+sentinel://u:secret@a:1,b/main', 'redis+sentinel://a:1,b/main'],
    ['rediss+cluster://:secret@a:1,b?password=secret', 'rediss+cluster://a:1,b'],
    ['mongodb://user:secret@a:1,b:2,c:3/db?replicaSet=rs0', 'mongodb://a:1,b:2,c:3/db'],
    ['mongodb://user@a,b/?authMechanismProperties=AWS_SESSION_TOKEN:secret', 'mongodb://a,b/'],
    ['mongodb://a/?tlsCertificateKeyFilePassword=secret', 'mongodb://a/'],
    [
      'mongodb+srv://user:secret@cluster0.ab_c.example.net',
      'mongodb+srv://cluster0.ab_c.example.net',
    ],
    ['mongodb://u:secret@%2Ftmp%2Fmongodb.sock/db', 'mongodb://%2Ftmp%2Fmongodb.sock/db'],
    ['MONGODB://u:secret@Host', 'MONGODB://Host'],
    ['kafka-1:9092,kafka-2:9092', 'kafka-1:9092,kafka-2:9092'],
    ['user:secret@kafka-1:9092', 'kafka-1:9092'],
  ])('%s without what is secret', (address, shown) => {
    expect(shownAddress(address)).toBe(shown);
    expect(readAddress(address)).not.toBeNull();
  });

  it.each([
    ['redis://:se/cret@host', 'redis://…'],
    ['redis://:secret', 'redis://…'],
    ['redis://:secret@', 'redis://…'],
    ['redis://host#secret', 'redis://…'],
    ['redis://host/se:cret', 'redis://…'],
    ['redis://host?a=1?secret', 'redis://…'],
    ['mongodb://user:secret@a,se cret', 'mongodb://…'],
    ['mongodb://u:s/e@cret@host/', 'mongodb://…'],
    ['mongodb://host/?authMechanismProperties=TOKEN:se@cret', 'mongodb://…'],
    ['mongodb://user:secret@host:port/', 'mongodb://…'],
    ['user:secret', '…'],
    ['', '…'],
  ])('not at all where its host is uncertain: %s', (address, shown) => {
    expect(shownAddress(address)).toBe(shown);
    expect(readAddress(address)).toBeNull();
  });
});

it('a printed address contains no part of any password', () => {
  const pieces = [...words(`@ / ? # : , % %40 [ ] & = \\ ' " ://`), ' ', '\n'];
  for (const scheme of ['redis://', 'mongodb://', 'mongodb+srv://', '']) {
    for (const one of pieces) {
      for (const two of ['', ...pieces]) {
        for (const user of ['', 'sEcret0', `sEcret0${two}sEcret1`]) {
          const password = `sEcret2${one}sEcret3${two}sEcret4`;
          for (const rest of ['host:1', 'host:1/db?x=1', 'a:1,b:2/']) {
            const address = `${scheme}${user}:${password}@${rest}`;
            const shown = shownAddress(address);
            expect(shown.includes('sEcret'), address).toBe(false);
            // Only passwords without blanks, which would end the address.
            if (!/[\s"'`<>]/.test(address) && scheme !== '') {
              const told = withoutCredentials(`Unable to parse ${address} with URL`);
              expect(told.includes('sEcret'), address).toBe(false);
            }
          }
        }
      }
    }
  }
});

it('a text only loses the secrets in its addresses', () => {
  expect(
    withoutCredentials(
      'connect to redis://:abc@tail@host:6379/0 failed, "mongodb://u:p@a,b/?x=1" too; see 10.0.0.1:9092',
    ),
  ).toBe('connect to redis://host:6379/0 failed, "mongodb://a,b/" too; see 10.0.0.1:9092');
  expect(withoutCredentials('it is redis://u:p@a:1, and that (rediss://:p@b) fails.')).toBe(
    'it is redis://a:1, and that (rediss://b) fails.',
  );
  expect(withoutCredentials('not by redis+sentinel://u:p@a,b/main.')).toBe(
    'not by redis+sentinel://a,b/main.',
  );
  expect(withoutCredentials('no address: a@b, http:/x')).toBe('no address: a@b, http:/x');
});

const read = (text: string) => {
  const address = readRedisAddress(text);
  return (
    address && {
      ...address,
      urlOf: undefined,
      urls: address.nodes.map((node) => address.urlOf(node)),
    }
  );
};

describe('an address of Redis', () => {
  it('names one server', () => {
    for (const text of [
      'redis://host',
      'redis://u:p@[::1]:1/3?family=6',
      'rediss://:a@b@host:6380',
    ]) {
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
