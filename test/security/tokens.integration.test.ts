/** Forged, changed, borrowed or absurd tokens get 401 in the same words, without side effects. */
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { sendRaw } from '#test/api-client.ts';
import { processorMs } from '#test/patience.ts';
import { startApp } from '#test/query-service.ts';
import { words } from '#test/words.ts';
import { opened, part, signed, signingKey } from './forge.ts';
import { expectHarmless } from './harmless.ts';

const PATH = '/api/order/list';

const service = useQueryService({ environments: 2 });
let token: string;
let head: string;
let body: string;
let signature: string;
let own: KeyObject;
let header: Record<string, unknown>;
let claims: Record<string, unknown>;

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full' });
  [head = '', body = '', signature = ''] = token.split('.');
  own = signingKey(service.installation.env['SIGNING_KEYS'] ?? '');
  ({ header, claims } = opened(token));
});

const statusOf = async (given: string) => (await service.api.get(PATH, given)).status;

async function expectRefused(bad: string): Promise<void> {
  const pieces = bad.split('.');
  const about = pieces.map((piece) => Buffer.from(piece, 'base64url').toString()).join('.');
  const answer = await service.api.get(PATH, bad);
  expect(answer.status, about).toBe(401);
  // The answer repeats no longer part of the token.
  expectHarmless(
    answer,
    about,
    pieces.filter((piece) => piece.length > 20),
  );
}

/**
 * Signed with the service's own key, which no attacker has: even then only the claims that it would
 * issue are valid.
 */
const ours = (changes: object, inHeader: object = {}) =>
  signed(own, { ...header, ...inHeader }, { ...claims, ...changes });

const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The same token with another character at a place. */
const changedAt = (at: number, character: string) =>
  `${token.slice(0, at)}${character}${token.slice(at + 1)}`;

describe('a token is refused', () => {
  it.each<[what: string, make: () => readonly string[]]>([
    [
      'with another algorithm, signed or not',
      () =>
        [...words('none nOnE HS256 RS256 PS256 ES384 EdDSA es256'), '', null, ['ES256']].flatMap(
          (alg) => [ours({}, { alg }), `${part({ ...header, alg })}.${body}.`],
        ),
    ],
    [
      'with an HMAC keyed with the public key',
      () => {
        const pem = createPublicKey(own).export({ type: 'spki', format: 'pem' });
        const text = `${part({ ...header, alg: 'HS256' })}.${body}`;
        return [`${text}.${createHmac('sha256', pem).update(text).digest('base64url')}`];
      },
    ],
    [
      'signed by another key, whatever key it names, and by ours under another name',
      () => {
        const names = [
          ...words('unknown __proto__ ../../dev/null'),
          '',
          undefined,
          [header['kid']],
        ];
        return [
          signed(stranger.privateKey, header, claims),
          ...names.flatMap((kid) => [
            ours({}, { kid }),
            signed(stranger.privateKey, { ...header, kid }, claims),
          ]),
        ];
      },
    ],
    [
      'with no signature, with zeros, or with the signature of other content',
      () => [
        ...[64, 0, 65].map((length) => `${head}.${body}.${part('\0'.repeat(length))}`),
        `${head}.${part({ ...claims, store_id: 's2' })}.${signature}`,
        `${part({ ...header, x: 1 })}.${body}.${signature}`,
      ],
    ],
    [
      'with another type, or with extensions that must be understood',
      () =>
        [
          ...['JWT', undefined, ['at+jwt']].map((typ) => ({ typ })),
          ...[['x'], [], 'exp'].map((crit) => ({ crit, x: 1, exp: 1 })),
          { b64: false, crit: ['b64'] },
        ].map((change) => ours({}, change)),
    ],
    [
      'if its header or its claims are not an object',
      () =>
        [...words('null [] 7 "x" { {} {"exp":9999999999} {}{}'), ''].flatMap((text) => [
          signed(own, header, text),
          signed(own, text, claims),
        ]),
    ],
    [
      'if it is cut or extended',
      () => [
        ...words('.. a.b.c'),
        `${head}.${body}`,
        `${token}.${signature}`,
        token.slice(0, -1),
        `${token}A`,
        `${head}..${signature}`,
      ],
    ],
    [
      'if a character is changed, also one that its signature does not need',
      () => [
        ...token.split('').flatMap((character, at) => {
          const next = BASE64URL[(BASE64URL.indexOf(character) + 1) % 64] ?? '';
          return at % 7 === 0 && character !== '.' ? [changedAt(at, next)] : [];
        }),
        // The last character has four unused bits.
        ...BASE64URL.split('').map((last) => changedAt(token.length - 1, last)),
      ],
    ],
    [
      'in another variant of base64, encrypted, or as JSON',
      () => [
        `${token}==`,
        `${head}=.${body}.${signature}`,
        // Base64 has no tilde, but a token may.
        `${head}~.${body}.${signature}`,
        `${head}.${body}.+${signature}`,
        part(token),
        `${part({ alg: 'dir', enc: 'A256GCM' })}..${part('iv')}.${part('text')}.${part('tag')}`,
        JSON.stringify({ payload: body, protected: head, signature }),
      ],
    ],
    [
      'if it is deeply nested',
      () => {
        const deep = `${'['.repeat(1_400)}${']'.repeat(1_400)}`;
        return [`${part(`{"alg":"ES256","x":${deep}}`)}.${body}.${signature}`, '.'.repeat(5_000)];
      },
    ],
  ])('%s', async (_what, make) => {
    // From here on the original is in the cache, which must not help a changed one.
    expect(await statusOf(token)).toBe(200);
    for (const bad of make()) if (bad !== token) await expectRefused(bad);
  });

  it('if it embeds its own key, whose URL is not fetched', async () => {
    const jwk = { ...stranger.publicKey.export({ format: 'jwk' }), kid: 'own', alg: 'ES256' };
    let asked = 0;
    const bait = createServer((_request, response) => {
      asked += 1;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    });
    await once(bait.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(bait.address() as AddressInfo).port}/keys.json`;
    const der = stranger.publicKey.export({ type: 'spki', format: 'der' });
    try {
      for (const extra of [
        { jwk },
        { x5u: url },
        { jku: url },
        { x5c: [der.toString('base64')] },
      ]) {
        for (const kid of ['own', header['kid']])
          await expectRefused(signed(stranger.privateKey, { ...header, ...extra, kid }, claims));
      }
      expect(asked).toBe(0);
    } finally {
      bait.close();
    }
  });

  it('if it is huge, before any costly step', async () => {
    const raw = (size: number) =>
      sendRaw(
        service.url,
        `GET ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${'A'.repeat(size)}\r\n\r\n`,
      );
    const refuse = async () => {
      await expectRefused(`${token}${'A'.repeat(10_000)}`);
      await expectRefused(ours({ x: 'x'.repeat(9_000) }));
      expect((await raw(15_000)).status).toBe(401);
      for (const size of [20_000, 1_048_576]) {
        const answer = await raw(size);
        expect(answer).toMatchObject({ status: 431, json: { code: 'invalid_request' } });
        expectHarmless(answer, `${size} bytes`, ['AAAA']);
      }
    };
    expect(await processorMs(refuse)).toBeLessThan(2_000);
  });

  it('outside of the Authorization header, or in it in another form', async () => {
    const authorizations = [
      `Basic ${token}`,
      token,
      `Bearer "${token}"`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer token=${token}`,
    ];
    for (const [path, headers] of [
      [`${PATH}?access_token=${token}`, {}],
      [PATH, { cookie: `access_token=${token}`, 'x-authorization': `Bearer ${token}` }],
      ...authorizations.map((authorization) => [PATH, { authorization }] as const),
    ] as const) {
      const answer = await service.api.call(path, { headers });
      expect([path, headers, answer.status]).toEqual([path, headers, 401]);
      expectHarmless(answer, path, [body]);
    }
  });
});

describe('a token signed with the service’s key', () => {
  it('is accepted with the service’s own claims', async () => {
    expect(await statusOf(ours({ nbf: Math.floor(Date.now() / 1_000) - 5 }))).toBe(200);
  });

  const seconds = Math.floor(Date.now() / 1_000);
  const soon = seconds + 900;

  it.each<[claim: string, others: readonly unknown[]]>([
    ['iss', words('other STORE-DATA')],
    ['aud', words('other store-data')],
    ['sub', ['other']],
    ['client_id', words('other FULL __proto__')],
    ['jti', words('0123456789abcdef0123456789abcdef * ../grant:full')],
    ['store_id', words('s2 * s1} {s1}')],
    ['environment', words('other *')],
    ['scope', []],
    // Milliseconds would expire in fifty thousand years.
    ['exp', [seconds - 1, Date.now() + 900_000, 1e300, soon + 0.5, String(soon)]],
    ['iat', [Date.now(), 2 ** 53, 0, -1, 1.5]],
  ])(
    'is refused with another %s, with none, and with one of another type',
    async (claim, others) => {
      // Its audience may be a list.
      const list = claim === 'aud' ? ['other'] : [claims[claim]];
      for (const value of [...others, list, true, null, '', undefined]) {
        if (claim !== 'scope' || value !== '') await expectRefused(ours({ [claim]: value }));
      }
    },
  );

  it('is refused before its `nbf`, or with one that is no time', async () => {
    for (const nbf of [seconds + 3_600, 1e300, String(seconds), null])
      await expectRefused(ours({ nbf }));
  });

  it.each([
    ['order crm', [200, 200, 403]],
    ['', [403, 403, 403]],
  ])('grants only the scopes in its claim: %j', async (scope, expected) => {
    const answers = [PATH, '/api/customer/list', '/api/store/info/'].map(
      async (path) => (await service.api.get(path, ours({ scope }))).status,
    );
    expect(await Promise.all(answers)).toEqual(expected);
  });
});

describe('a session', () => {
  it('is valid only for its own store, environment and key', async () => {
    const [, second = ''] = service.installation.config.environments;
    for (const key of [
      { clientId: 'neighbour', storeId: 's2' },
      { clientId: 'colleague' },
      { clientId: 'sandboxed', environment: second },
    ]) {
      const foreign = await service.tokenOf(key);
      expect(await statusOf(foreign)).toBe(200);
      const { jti, store_id, environment, client_id } = opened(foreign).claims;
      const client = { client_id, sub: client_id };
      await expectRefused(ours({ jti }));
      await expectRefused(ours({ store_id, environment, ...client }));
      // A colleague has the same store and environment.
      if (client_id !== 'colleague') await expectRefused(ours({ jti, ...client }));
    }
  });

  it('ends with its key in Redis, although its token still verifies', async () => {
    const ended = await service.api.token('full', 'secret');
    expect(await statusOf(ended)).toBe(200);
    const { session } = service.inRedis('s1');
    await service.installation.redis.pexpire(session(String(opened(ended).claims['jti'])), 0);
    await expectRefused(ended);
  });

  it('is refused if this service does not serve its environment', async () => {
    const { config } = service.installation;
    await using alone = await startApp({ ...config, environments: config.environments.slice(1) });
    expect((await alone.api.get(PATH, token)).status).toBe(401);
    expect((await alone.api.askToken('full', 'secret')).status).toBe(401);
  });
});
