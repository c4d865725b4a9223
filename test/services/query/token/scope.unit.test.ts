import { describe, expect, it } from 'vitest';
import { Refused } from '#query/answers/refusal.ts';
import { grantedScopes } from '#query/token/scope.ts';

describe('grantedScopes', () => {
  it.each([
    [null, ['menu', 'store'], ['store', 'menu']],
    [null, [], []],
    ['order', ['order', 'crm'], ['order']],
    ['menu  order crm', ['order', 'crm', 'menu'], ['crm', 'order', 'menu']],
    [' order order ', ['order'], ['order']],
  ] as const)('%s of %j', (requested, held, granted) => {
    expect(grantedScopes(requested, [...held])).toEqual(granted);
  });

  it.each(['menu', 'order menu', 'admin', 'ORDER', ' ', 'order\tcrm', 'order,crm'])(
    'refuses %j',
    (requested) => {
      expect(() => grantedScopes(requested, ['order', 'crm'])).toThrow(Refused);
    },
  );
});
