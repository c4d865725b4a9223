/**
 * Faults that the tests must find. Each replaces a text that occurs once in its file, and names the
 * tests that find it. Faults of the projector's core are in `test/simulation/mistakes/`. Seven
 * faults of epochs are here: after a restore in the simulation changes take the same positions
 * again, which hides them.
 */

export interface Mutation {
  /** The wrong behaviour. */
  fault: string;
  file: string;
  replace: string;
  by: string;
  /** Test files, of which at least one must fail. */
  tests: readonly string[];
}

export const MUTATIONS: readonly Mutation[] = [
  {
    fault: 'a piece of an erasure keeps its epoch over a commit of unknown outcome',
    file: 'shared/projection/erasure/pieces.ts',
    replace: 'epochs.forget(given);',
    by: 'given.keys();',
    tests: ['test/shared/projection/erasure/pieces.integration.test.ts'],
  },
  {
    fault: 'an epoch is kept over a commit of unknown outcome',
    file: 'shared/projection/slice/epochs.ts',
    replace: 'for (const storeId of given.keys()) this.#given.delete(storeId);',
    by: 'given.keys();',
    tests: ['test/shared/projection/pipeline/positions.integration.test.ts'],
  },
  {
    fault: 'a new epoch begins later than behind the last position of the one before it',
    file: 'shared/projection/slice/epochs.ts',
    replace: 'from: (stamp?.position ?? 0) + 1 }',
    by: 'from: Math.max(1, stamp?.position ?? 0) + 5 }',
    tests: ['test/shared/projection/pipeline/positions.integration.test.ts'],
  },
  {
    fault: 'an epoch is continued wherever the store stands',
    file: 'shared/projection/slice/epochs.ts',
    replace:
      'given.position === stamp?.position &&\n      given.epoch === presentEpoch(stamp.epochs)',
    by: "stamp !== undefined && given.epoch !== ''",
    tests: ['test/shared/projection/pipeline/positions.integration.test.ts'],
  },
  {
    fault: 'positions that a restored database lost count as delivered',
    file: 'services/query/feed/cursor.ts',
    replace: 'const end = following === undefined ? (stamp?.position ?? 0) : following.from - 1;',
    by: 'const end = Infinity;',
    tests: ['test/services/query/feed/cursor.unit.test.ts'],
  },
  {
    fault: 'deletions that a restored database repeats are not delivered',
    file: 'services/query/feed/cursor.ts',
    replace: 'skipDeletionsUpTo: Math.min(skipDeletionsUpTo, end)',
    by: 'skipDeletionsUpTo: after.snapshotPosition',
    tests: ['test/services/query/feed/cursor.unit.test.ts'],
  },
  {
    fault: 'the stamp forgets all epochs but the present one',
    file: 'shared/read-models/feed-epochs.ts',
    replace: 'if (text === undefined) return item;',
    by: "if (text === undefined || text !== '') return item;",
    tests: ['test/shared/projection/pipeline/positions.integration.test.ts'],
  },
  {
    fault: 'a cursor of one kind is taken for another kind',
    file: 'services/query/feed/cursor.ts',
    replace: '`${environment}/${storeId}/${feed}/`',
    by: '`${environment}/${storeId}/`',
    tests: ['test/services/query/changes.integration.test.ts'],
  },
  {
    fault: 'a page begins one record too early',
    file: 'services/query/read/page.ts',
    replace: 'Math.min((page - 1) * pageSize, MAX_SKIPPED)',
    by: 'Math.min(Math.max(0, (page - 1) * pageSize - (page > 3 ? 1 : 0)), MAX_SKIPPED)',
    // The model's random questions find it in most runs.
    tests: ['test/services/query/rank-tree/by-rank.integration.test.ts'],
  },
  {
    fault: 'a count of a range leaves out its lower bound',
    file: 'services/query/rank-tree/by-rank.ts',
    replace: ': upper) - lower);',
    by: ': upper) - lower - (lower > 0 ? 1 : 0));',
    tests: ['test/model.integration.test.ts', 'test/services/query/lists.integration.test.ts'],
  },
  {
    fault: 'the last second of a window ends at its beginning',
    file: 'services/query/lists/request.ts',
    replace: 'local === null ? null : local + SECOND',
    by: 'local === null ? null : local + SECOND - SECOND',
    tests: ['test/services/query/lists.integration.test.ts'],
  },
  {
    fault: 'the name of an erased customer stays in records that name them',
    file: 'services/query/read/page.ts',
    replace: 'return erased === true ? withoutCustomer(body) : body;',
    by: 'return erased === true && withoutCustomer(body) === body ? withoutCustomer(body) : body;',
    tests: [
      'test/erasure.integration.test.ts',
      'test/shared/projection/erasure/erasures.integration.test.ts',
    ],
  },
  {
    fault: 'a list shows records of every store',
    file: 'services/query/lists/request.ts',
    replace: 'Object.assign({ store_id: storeId },',
    by: "Object.assign({ store_id: storeId === '' ? storeId : { $gte: '' } },",
    tests: ['test/security/tenants.integration.test.ts'],
  },
  {
    fault: 'a token is valid for a blocked store',
    file: 'services/query/access/live-access.ts',
    replace: "if (store.blocked) return 'store_blocked';",
    by: "if (store.blocked && session === null) return 'store_blocked';",
    tests: ['test/services/query/access.integration.test.ts'],
  },
  {
    fault: 'a token keeps a scope that its key has lost',
    file: 'services/query/access/live-access.ts',
    replace: 'grant.scopes.filter((scope) => claims.scopes.includes(scope))',
    by: 'claims.scopes.filter((scope) => grant.scopes.length > 0 || scope !== null)',
    tests: ['test/services/query/access.integration.test.ts'],
  },
  {
    fault: 'a request with an invalid token counts against the quota',
    file: 'services/query/access/live-access.ts',
    replace:
      "if window == '' or session ~= client or not grant or not state then return answer end",
    by: "if window == '' then return answer end\ngrant = grant or 'active'\nstate = state or 'active'",
    tests: ['test/services/query/access.integration.test.ts'],
  },
  {
    fault: 'an ETag does not depend on the parameters',
    file: 'services/query/responses/etag.ts',
    replace: '    Object.entries(parameters),\n',
    by: '    Object.entries(parameters).length,\n',
    tests: [
      'test/services/query/responses/etag.unit.test.ts',
      'test/services/query/conditional.integration.test.ts',
    ],
  },
  {
    fault: 'a tampered token is accepted after its signature was verified once',
    file: 'services/query/access/tokens.ts',
    replace: 'const known = cache.get(token);',
    by: "const known = cache.get(token) ?? cache.find((_, key) => key.split('.')[2] === token.split('.')[2]);",
    tests: ['test/security/tokens.integration.test.ts'],
  },
  {
    fault: 'the revocation of a session does not change Redis',
    file: 'services/admin/commands/sessions.ts',
    replace:
      'return await endRevokedSession(redis, revokedSessions, servers.config.namePrefix, session);',
    by: 'return session._id !== _id || revokedSessions === null;',
    tests: ['test/services/admin/sessions.integration.test.ts'],
  },
  {
    fault: 'a leaf of a rank tree counts one facet for another',
    file: 'shared/projection/rank-tree/nodes.ts',
    replace: 'for (const { facet } of records) counts[facet] = (counts[facet] ?? 0) + 1;',
    by: 'for (const { facet } of records) counts[records[0]?.facet ?? facet] = (counts[records[0]?.facet ?? facet] ?? 0) + 1;',
    tests: [
      'test/shared/projection/rank-tree/split.unit.test.ts',
      'test/shared/projection/rank-tree/trees.integration.test.ts',
    ],
  },
];
