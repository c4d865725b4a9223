/**
 * Prototype pollution, operator injection and searches designed to run forever, in every parameter
 * of every endpoint.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import type { Answer, ErrorAnswer } from '#test/api-client.ts';
import { processorMs } from '#test/patience.ts';
import { times } from '#test/times.ts';
import { words } from '#test/words.ts';
import { type DataRoute, dataRoutes, targetOf } from './data-routes.ts';
import { expectHarmless } from './harmless.ts';
import { idOf, recordsOf, type Tenant } from './tenants.ts';

/** Part of every attack value; no answer may repeat it. */
const CANARY = 'canary7f3a';

const OWN: Tenant = {
  name: 'A',
  storeId: 's1',
  environment: '',
  secret: `${'a'.repeat(150)} Zé (Bar) [1] .*+?^$ {2,} | \\d "x" 'y'`,
  phone: '11900000000',
};

const service = useQueryService();
let token: string;
let routes: DataRoute[];

beforeAll(async () => {
  routes = dataRoutes(service.app);
  token = await service.tokenOf({ clientId: 'full' });
  await service.apply([
    ...recordsOf(OWN),
    ...recordsOf({ ...OWN, name: 'B', storeId: 's2', secret: CANARY, phone: '11911111111' }),
  ]);
});

/** A target with an existing id if one is required. */
const ownTarget = (route: DataRoute, more: readonly string[] = []) =>
  targetOf(route, idOf((route.required[0] ?? '').replace(/_id$/, ''), OWN), more);

/** Asserts what holds of every answer, too. */
async function attack(target: string, status: number): Promise<Answer> {
  const answer = await service.api.get(target, token);
  const about = target.slice(0, 200);
  expect(answer.status, about).toBe(status);
  expectHarmless(answer, about, [CANARY]);
  return answer;
}

/**
 * Names that other parsers turn into objects, arrays or operators; `x` stands for an existing
 * parameter.
 */
const NAMES = words(
  '__proto__ __proto__[polluted] constructor[prototype][polluted] constructor.prototype.polluted',
  'toString hasOwnProperty $where $or[0][x] $expr x[$ne] x[$regex] x[$in][] x[] x[0]',
  'x[__proto__][polluted] x.$ne x.length x%00 x%20 X _method callback fields sort limit order_by',
  'store_id store environment env tenant client',
);

const namesNear = (known: string) =>
  NAMES.map((name) => name.replace('x', known).replace('X', known.toUpperCase()));

/** Values with a meaning for a database, a template, a shell, a log or a browser. */
const VALUES = [
  `{"$gt":"","${CANARY}":1}`,
  `{"$where":"sleep(5000)||'${CANARY}'"}`,
  `$${CANARY}`,
  `';return '${CANARY}'==='${CANARY}`,
  `"; DROP TABLE ${CANARY}; --`,
  `\0${CANARY}`,
  `${CANARY}\r\nX-Injected: ${CANARY}`,
  `../../../${CANARY}`,
  `\${7*7}{{7*7}}#{7*7}${CANARY}`,
  `$(sleep 5)\`sleep 5\`${CANARY}`,
  `<script>${CANARY}</script>`,
  `%2524${CANARY}`,
  `__proto__[${CANARY}]`,
  `1e1000.${CANARY}`,
  `${CANARY}${'x'.repeat(8_000)}`,
];

describe('every data endpoint', () => {
  it('refuses every unknown parameter', async () => {
    for (const route of routes) {
      for (const name of namesNear(route.parameters[0] ?? 'page')) {
        await attack(ownTarget(route, [`${name}=${CANARY}`]), 422);
      }
    }
  });

  it('accepts no operator, code or path as the value of any parameter', async () => {
    for (const route of routes) {
      for (const name of route.parameters) {
        for (const value of VALUES) {
          const others = route.required.filter((other) => other !== name);
          const pair = `${name}=${encodeURIComponent(value)}`;
          const target = targetOf({ ...route, required: others }, 'x', [pair]);
          // A search accepts any text that is not too long.
          const isText = name === 'search' && value.length <= 100;
          const { headers, json } = await attack(target, isText ? 200 : 422);
          if (isText) expect(json).toMatchObject({ count: 0, results: [] });
          else expect((json as ErrorAnswer).detail).toContain(name);
          expect(headers.get('x-injected')).toBeNull();
        }
      }
    }
  });

  it('refuses hundreds of parameters as quickly as one', async () => {
    for (const route of routes) {
      const many = times(1_800, (index) => `${index}=1`).join('&');
      const same = `${route.parameters[0] ?? 'x'}=1&`.repeat(1_000);
      const refuse = async () => {
        for (const [pairs, status] of [
          [many, 422],
          [same.slice(0, 14_000), 422],
          ['&'.repeat(14_000), 200],
          ['='.repeat(14_000), 422],
        ] as const) {
          await attack(ownTarget(route, [pairs]), status);
        }
      };
      expect(await processorMs(refuse)).toBeLessThan(5_000);
    }
  });
});

describe('a search', () => {
  it('treats every pattern as plain text, and ends quickly', async () => {
    for (const text of [
      ...words('(a+)+$ (a|a)*b (.*a){25} [[ \\\\ (?=a (?i)ZÉ [a-z] \\d\\d \\u0061 $$'),
      ...['.*', '^', '(1'].map((repeated) => repeated.repeat(50)),
      `${'a'.repeat(99)}b`,
      `${'a?'.repeat(33)}b`,
      `${'+'.repeat(98)}1x`,
      `${' '.repeat(5_000)}zz`,
    ]) {
      // MongoDB's time has a separate limit.
      const took = await processorMs(async () => {
        const target = `/api/customer/list?search=${encodeURIComponent(text)}`;
        expect((await service.api.list(target, token)).count, text).toBe(0);
      });
      expect(took).toBeLessThan(5_000);
    }
  });
});

describe('the token endpoint', () => {
  const ask = async (form: string, clientId = 'full', secret = 'secret') => {
    const answer = await service.api.askToken(clientId, secret, form);
    expectHarmless(answer, form, [CANARY]);
    return answer;
  };
  const GRANT = 'grant_type=client_credentials';

  it('accepts no operator as a client or a secret', async () => {
    for (const odd of [...words('{"$gt":""} [$ne] $where __proto__ .*'), '']) {
      for (const [clientId, secret] of [
        ['full', odd],
        [odd, 'secret'],
      ]) {
        const answer = await ask(GRANT, clientId, secret);
        expect([clientId, secret, answer.status]).toEqual([clientId, secret, 401]);
        if (odd !== '') expect(answer.text).not.toContain(odd);
      }
    }
  });

  it('accepts no operator as a parameter, and ignores unknown parameters', async () => {
    for (const value of VALUES.map(encodeURIComponent)) {
      for (const [form, error] of [
        [`grant_type=${value}`, 'unsupported_grant_type'],
        [`${GRANT}&scope=${value}`, 'invalid_scope'],
      ] as const)
        expect((await ask(form)).json).toMatchObject({ error });
    }
    for (const name of namesNear('scope')) {
      const { json } = await ask(`${GRANT}&${name}=${CANARY}`);
      expect(json, name).toMatchObject({ scope: 'store crm order menu' });
    }
    for (const name of words('grant_type[$ne] grant_type[] __proto__[grant_type]'))
      expect((await ask(`${name}=client_credentials`)).json).toMatchObject({
        error: 'invalid_request',
      });
  });
});

it('works as before after all attacks, and nothing is polluted', async () => {
  expect((await service.api.list('/api/customer/list', token)).count).toBe(1);
  expect((await service.api.call('/health')).status).toBe(200);
  expect([Object.prototype, Object, Function].flatMap(Object.keys)).toEqual([]);
});
