import { expect, it } from 'vitest';
import {
  decodeGrant,
  decodeStoreState,
  encodeGrant,
  encodeStoreState,
} from '#shared/access/grants.ts';

it.each([
  ['active', { blocked: false, quota: null }],
  ['blocked', { blocked: true, quota: null }],
  ['active 100', { blocked: false, quota: { requests: 100 } }],
  ['blocked 5 3600', { blocked: true, quota: { requests: 5, window_seconds: 3_600 } }],
])('a store’s state is written and read as %j', (member, state) => {
  expect(encodeStoreState(state)).toBe(member);
  expect(decodeStoreState(member)).toEqual(state);
});

it.each([undefined, '', 'open', 'active ', 'active 1 2 3', 'active -1', 'active 1e3'])(
  'the unknown state %j of a store counts as missing, so that it is loaded again',
  (member) => {
    expect(decodeStoreState(member)).toBeNull();
  },
);

it.each<[string, Parameters<typeof encodeGrant>[0]]>([
  ['active store menu', { status: 'active', scopes: ['store', 'menu'] }],
  ['revoked', { status: 'revoked', scopes: [] }],
])('a grant is written and read as %j', (member, grant) => {
  expect(encodeGrant(grant)).toBe(member);
  expect(decodeGrant(member)).toEqual(grant);
});

it.each([undefined, 'nonsense'])('the unknown grant %j counts as missing', (member) => {
  expect(decodeGrant(member)).toBeNull();
});
