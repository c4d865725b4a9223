/** Forged, changed, borrowed or absurd tokens get 401 in the same words, without side effects. */
import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { sendRaw } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { processorMs } from '#test/patience.ts';
import { startApp } from '#test/query-service.ts';
import { words } from '#test/words.ts';
import { opened, part, signed, signingKey } from './forge.ts';
import { expectHarmless } from './harmless.ts';

const PATH = '/api/order/list';

const service = useQueryService({ environments: 2 });
let token: string;
let own: ReturnType<typeof signingKey>;
let header: Record<string, unknown>;
let claims: Record<string, unknown>;

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full' });
  own = signingKey(service.installation.env['SIGNING_KEYS'] ?? '');
  ({ header, claims } = opened(token));
});

const statusOf = async (given: string) => (await service.api.get(PATH, given)).status;

async function expectRefused(bad: string, why = ''): Promise<void> {
  const about = `${why} ${bad.slice(0, 80)}`;
  const answer = await service.api.get(PATH, bad);
  expect(answer.status, about).toBe(401);
  // The answer repeats no longer part of the token.
  expectHarmless(
    answer,
    about,
    bad.split('.').filter((piece) => piece.length > 20),
  );
}

/**
 * Signed with the service's own key, which no attacker has: even then only the claims that it would
 * issue are valid.
 */
const ours = (changes: object, head: object = {}) =>
  signed(own.key, { ...header, ...head }, { ...claims, ...changes });

describe('a foreign signature', () => {
  it.each([...words('none nOnE HS256 RS256 PS256 ES384 EdDSA es256'), '', null, ['ES256']])(
    'is refused with the algorithm %j',
    async (alg) => {
      const [, body = '', signature = ''] = token.split('.');
      for (const last of ['', signature, part('x')])
        await expectRefused(`${part({ ...header, alg })}.${body}.${last}`);
      await expectRefused(signed(own.key, { ...header, alg }, claims));
    },
  );

  it('is refused if it is an HMAC keyed with the public key, in any encoding', async () => {
    const { d: _private, ...jwk } = own.jwk;
    const publicKey = createPublicKey(own.key);
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const der = publicKey.export({ type: 'spki', format: 'der' });
    const secrets = [
      pem,
      pem.trim(),
      der,
      JSON.stringify(jwk),
      Buffer.from(jwk.x ?? '', 'base64url'),
      '',
    ];
    for (const bits of ['256', '512']) {
      const text = `${part({ ...header, alg: `HS${bits}` })}.${part(claims)}`;
      for (const secret of secrets) {
        await expectRefused(
          `${text}.${createHmac(`sha${bits}`, secret).update(text).digest('base64url')}`,
          bits,
        );
      }
    }
  });

  it('is refused if it comes from another key, whatever key it names', async () => {
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { kid: right } = header;
    const kids = [right, ...words('unknown __proto__ ../../dev/null'), '', undefined, [right]];
    for (const kid of kids)
      await expectRefused(signed(stranger.privateKey, { ...header, kid }, claims), 'kid');
    // The service's key under another name is refused, too.
    for (const kid of kids.slice(1))
      await expectRefused(signed(own.key, { ...header, kid }, claims), 'own kid');
  });

  it('is refused if it embeds its own key, whose URL is not fetched', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'own', use: 'sig', alg: 'ES256' };
    let asked = 0;
    const bait = createServer((_request, response) => {
      asked += 1;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    });
    await once(bait.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(bait.address() as AddressInfo).port}/keys.json`;
    try {
      for (const extra of [
        { jwk },
        { x5u: url },
        { jku: url, jwk },
        { x5c: [publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] },
        { jku: url, crit: ['jku'] },
      ]) {
        for (const kid of ['own', header['kid']])
          await expectRefused(signed(privateKey, { ...header, ...extra, kid }, claims));
      }
      expect(asked).toBe(0);
    } finally {
      bait.close();
    }
  });

  it('is refused if it is zeros, in another format, or of other content', async () => {
    const [head = '', body = ''] = token.split('.');
    const text = `${head}.${body}`;
    const one = Buffer.from('1'.padStart(64, '0').repeat(2), 'hex');
    // The order of the curve for both numbers is zero, too.
    const order = Buffer.from(
      'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'.repeat(2),
      'hex',
    );
    const zeros = [64, 0, 65].map((length) => Buffer.alloc(length));
    for (const bytes of [...zeros, Buffer.alloc(64, 0xff), one, order]) {
      await expectRefused(`${text}.${bytes.toString('base64url')}`);
    }
    const der = Buffer.from(token.split('.')[2] ?? '', 'base64url');
    await expectRefused(
      `${text}.${Buffer.concat([Buffer.from('30440220', 'hex'), der]).toString('base64url')}`,
    );
    const another = await service.api.token('full', 'secret');
    await expectRefused(`${text}.${another.split('.')[2]}`);
    await expectRefused(`${head}.${another.split('.')[1]}.${token.split('.')[2]}`);
  });
});

describe('a token signed with the service’s key', () => {
  it('is accepted with the service’s own claims', async () => {
    expect(await statusOf(ours({}))).toBe(200);
    expect(await statusOf(ours({ nbf: Math.floor(Date.now() / 1_000) - 5 }))).toBe(200);
  });

  it.each([
    ['iss', ['other', undefined, 7, ['store-data'], 'STORE-DATA']],
    ['aud', ['other', undefined, 7, ['other'], 'store-data']],
    ['sub', ['other', undefined, ['full']]],
    ['client_id', ['other', undefined, ['full'], 'FULL', '__proto__']],
    ['jti', ['0'.repeat(32), undefined, ['x'], '*', '../grant:full']],
    ['store_id', ['s2', undefined, ['s1'], '*', 's1}', '{s1}']],
    ['environment', ['other', undefined, ['production'], '*']],
    ['scope', [undefined, 7, ['order']]],
  ])('is refused with another %s', async (claim, values) => {
    for (const value of values)
      await expectRefused(ours({ [claim]: value }), `${claim} ${JSON.stringify(value)}`);
  });

  it.each([['order crm'], ['']])('grants only the scopes in its claim: %j', async (scope) => {
    const answers = [PATH, '/api/customer/list', '/api/store/info/'].map(async (path) => {
      return (await service.api.get(path, ours({ scope }))).status;
    });
    const expected = scope === '' ? [403, 403, 403] : [200, 200, 403];
    expect(await Promise.all(answers)).toEqual(expected);
  });

  const NO_TIMES = ['', null, true, [], undefined];
  const seconds = Math.floor(Date.now() / 1_000);
  const soon = seconds + 900;

  it.each<[claim: string, what: string, values: readonly unknown[]]>([
    ['exp', 'that is over', [0, seconds - 1, -seconds]],
    // Milliseconds would expire in fifty thousand years.
    ['exp', 'beyond all lifetimes', [Date.now() + 900_000, 2 ** 32, 2 ** 53, 1e300]],
    ['exp', 'that is no whole number', [soon + 0.5, [soon], String(soon)]],
    ['iat', 'after its end', [Date.now(), 2 ** 53]],
    ['iat', 'that is no time of now', [0, -1, 1.5, '1']],
    ['nbf', 'to come', [seconds + 3_600, 1e300, String(seconds)]],
    ['exp', 'of another type', NO_TIMES],
    ['iat', 'of another type', NO_TIMES],
    ['nbf', 'of another type', NO_TIMES.slice(0, -1)],
  ])('is refused with an %s %s', async (claim, _what, values) => {
    for (const value of values)
      await expectRefused(ours({ [claim]: value }), `${claim} ${JSON.stringify(value)}`);
  });

  it('is refused with an expiry that only JSON can represent', async () => {
    const text = JSON.stringify(claims);
    for (const exp of words('1e999 -1e999 9007199254740993 -0')) {
      await expectRefused(
        signed(own.key, header, text.replace(/"exp":\d+/, `"exp":${exp}`)),
        `exp ${exp}`,
      );
    }
  });

  it('is read with the last of two equal claims', async () => {
    const text = JSON.stringify(claims).slice(1, -1);
    const twice = (first: string, last: string) =>
      signed(own.key, header, `{${first},${text},${last}}`);
    expect(await statusOf(twice('"store_id":"s2","exp":1', '"iss":"store-data"'))).toBe(200);
    for (const last of words('"store_id":"s2" "exp":1 "aud":"other" "scope":7'))
      await expectRefused(twice('"x":1', last), last);
    const head = JSON.stringify(header).slice(1, -1);
    await expectRefused(signed(own.key, `{${head},"alg":"none"}`, claims));
    await expectRefused(signed(own.key, `{${head},"typ":"JWT"}`, claims));
  });

  it.each([
    ...['JWT', undefined, ['at+jwt']].map((typ) => ({ typ })),
    ...[['x'], [], 'exp'].map((crit) => ({ crit, x: 1, exp: 1 })),
    { b64: false, crit: ['b64'] },
  ])('is refused with %j in its header', async (change) => {
    await expectRefused(ours({}, change));
  });

  it('is refused if its claims are not an object', async () => {
    for (const text of [...words('null [] 7 "x" { {} {"exp":9999999999} {}{}'), '']) {
      await expectRefused(signed(own.key, header, text), text);
      await expectRefused(signed(own.key, text, claims), text);
    }
    await expectRefused(
      signed(own.key, header, { ...claims, __proto__: null, 'constructor.prototype': 1, exp: 1 }),
    );
  });
});

describe('a session', () => {
  it('is valid only for its own store, environment and key', async () => {
    const [first = '', second = ''] = service.installation.config.environments;
    await service.setKey({ clientId: 'neighbour', storeId: 's2' });
    await service.setKey({ clientId: 'colleague' });
    await service.setKey({ clientId: 'sandboxed', environment: second });
    for (const clientId of ['neighbour', 'colleague', 'sandboxed']) {
      const foreign = await service.api.token(clientId, 'secret');
      expect(await statusOf(foreign)).toBe(200);
      const { jti, store_id, environment, client_id } = opened(foreign).claims;
      // All combinations of sessions and tokens of the two.
      await expectRefused(ours({ jti }), `session of ${clientId}`);
      const { jti: mine } = claims;
      await expectRefused(
        ours({ store_id, environment, client_id, sub: client_id, jti: mine }),
        clientId,
      );
      if (store_id !== 's1') await expectRefused(ours({ store_id, jti }));
      if (environment !== first) await expectRefused(ours({ environment, jti }));
      if (clientId !== 'sandboxed') await expectRefused(ours({ client_id, sub: client_id }));
    }
  });

  it('is refused after deletion or expiry, although its token still verifies', async () => {
    const { redis } = service.installation;
    const keys = service.inRedis('s1');
    const deleted = await service.api.token('full', 'secret');
    expect(await statusOf(deleted)).toBe(200);
    await redis.del(keys.session(String(opened(deleted).claims['jti'])));
    await expectRefused(deleted, 'deleted');
    const expired = await service.api.token('full', 'secret');
    const session = keys.session(String(opened(expired).claims['jti']));
    await redis.pexpire(session, 1);
    await eventually('it has run out', async () => (await redis.exists(session)) === 0);
    await expectRefused(expired, 'expired');
  });

  it('is refused if this service does not serve its environment', async () => {
    const [, second = ''] = service.installation.config.environments;
    const { config } = service.installation;
    await using alone = await startApp({ ...config, environments: [second] });
    expect((await alone.api.get(PATH, token)).status).toBe(401);
    expect((await alone.api.askToken('full', 'secret')).status).toBe(401);
  });
});

describe('a token in another form', () => {
  it('is refused if it is cut, extended or changed anywhere', async () => {
    const [head = '', body = '', signature = ''] = token.split('.');
    // From here on the original is in the cache, which must not help a changed one.
    expect((await service.api.get(PATH, token)).status).toBe(200);
    for (const bad of [
      '..',
      'a.b.c',
      `${head}.${body}.`,
      `${token}.${signature}`,
      token.slice(0, -1),
      `${token}A`,
      `${head}..${signature}`,
      `${part('{')}.${body}.${signature}`,
      `${head}.${part('null')}.${signature}`,
    ]) {
      await expectRefused(bad);
    }
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let at = token.length - 1; at >= 0; at -= 7) {
      const next = alphabet[(alphabet.indexOf(token[at] ?? '') + 1) % 64] ?? 'A';
      if (token[at] !== '.')
        await expectRefused(`${token.slice(0, at)}${next}${token.slice(at + 1)}`);
    }
    // The last character has four unused bits.
    for (const last of alphabet)
      if (last !== token.at(-1)) await expectRefused(`${token.slice(0, -1)}${last}`);
  });

  it('is refused in other variants of base64', async () => {
    const [head = '', body = '', signature = ''] = token.split('.');
    const standard = (text: string) => Buffer.from(text, 'base64url').toString('base64');
    for (const bad of [
      `${token}==`,
      `${head}=.${body}.${signature}`,
      `${standard(head)}.${standard(body)}.${standard(signature)}`,
      // Differs from every valid text: base64 has no tilde, but a token may.
      `${head}~.${body}.${signature}`,
      `${head}.${body}.+${signature}`,
      Buffer.from(token).toString('base64url'),
    ]) {
      if (bad !== token) await expectRefused(bad);
    }
  });

  it('is refused if it is encrypted, or JSON', async () => {
    const jwe = (head: object) => `${part(head)}..${part('iv')}.${part('text')}.${part('tag')}`;
    await expectRefused(jwe({ alg: 'dir', enc: 'A256GCM' }));
    await expectRefused(
      jwe({ alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2c: 2_147_483_647, p2s: 'x' }),
    );
    const [protectedHeader, payload, signature] = token.split('.');
    await expectRefused(JSON.stringify({ payload, protected: protectedHeader, signature }));
    await expectRefused(ours({}, { cty: 'JWT', typ: 'JWT' }));
  });

  it('is refused if it is deeply nested', async () => {
    const deep = `${'['.repeat(1_400)}${']'.repeat(1_400)}`;
    await expectRefused(`${part(`{"alg":"ES256","x":${deep}}`)}.${part(claims)}.${part('x')}`);
    const objects = `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`;
    await expectRefused(`${part(header)}.${part(objects)}.${part('x')}`);
    await expectRefused('.'.repeat(5_000));
  });

  it('is refused if it is huge, before any costly step', async () => {
    const raw = (size: number) =>
      sendRaw(
        service.url,
        `GET ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${'A'.repeat(size)}\r\n\r\n`,
      );
    const refuse = async () => {
      await expectRefused(`${token}${'A'.repeat(10_000)}`);
      await expectRefused(
        `${part(header)}.${part({ ...claims, x: 'x'.repeat(9_000) })}.${part('x')}`,
      );
      expect((await raw(15_000)).status).toBe(401);
      for (const size of [20_000, 1_048_576]) {
        const answer = await raw(size);
        expect(answer).toMatchObject({ status: 431, json: { code: 'invalid_request' } });
        expectHarmless(answer, `${size} bytes`, ['AAAA']);
      }
    };
    expect(await processorMs(refuse)).toBeLessThan(2_000);
  });

  it('is refused outside of the Authorization header', async () => {
    const [, body = ''] = token.split('.');
    const authorizations = [
      `Basic ${token}`,
      token,
      `Bearer "${token}"`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer token=${token}`,
      `DPoP ${token}`,
    ];
    for (const [path, headers] of [
      [`${PATH}?access_token=${token}`, {}],
      [PATH, { cookie: `access_token=${token}; token=${token}` }],
      [
        PATH,
        {
          'x-access-token': token,
          'x-authorization': `Bearer ${token}`,
        },
      ],
      ...authorizations.map((authorization) => [PATH, { authorization }] as const),
    ] as const) {
      const answer = await service.api.call(path, { headers });
      expect([path, headers, answer.status]).toEqual([path, headers, 401]);
      expectHarmless(answer, path, [body]);
    }
  });
});

it('the real token is still accepted after all attacks', async () => {
  expect(await statusOf(token)).toBe(200);
  expect((await service.api.call('/health')).status).toBe(200);
});
