/** `proveFollower` passes the example clients and rejects a client that polls `updated_from`. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { FollowerNotProven } from '../../deploy/testing/api.d.ts';
import { proveFollower } from '../../deploy/testing/index.ts';
import { useFolder } from '#test/folder.ts';
import { FOLLOWERS, LANGUAGES } from '../deploy/clients/packed.ts';

const folder = useFolder();
const RIGHT = { missing: [], stale: [], notDeleted: [] };

export function describeProof(changes: number): void {
  /** For a busy machine, and a download over a slow connection. */
  const LIMIT_MS = 300_000 + changes * 20;
  // Otherwise it would start containers if the test servers are containers.
  beforeAll(() => void vi.stubEnv('STACK_SOURCE', ''));
  afterAll(() => void vi.unstubAllEnvs());

  describe.concurrent(
    'a proof with late, undated and wrongly dated changes, deletions, a rebuild and crashes',
    () => {
      it.for(LANGUAGES)(
        'accepts the %s example',
        { timeout: LIMIT_MS },
        async (language, context) => {
          const example = await FOLLOWERS[language](context, join(folder, 'example'));
          const report = await proveFollower({ ...example, changes });
          expect(report).toMatchObject({ changes, ...RIGHT });
        },
      );

      it(
        'says what a client that polls by updated_from misses, and why',
        { timeout: LIMIT_MS },
        async () => {
          const program = new URL('./poll-updated-from.ts', import.meta.url).pathname;
          const proof = proveFollower({
            command: [process.execPath, program],
            kinds: ['order'],
            changes: 1_000,
            patienceSeconds: 5,
          });
          const { name, message, report } = await proof.then(
            () => Promise.reject(new Error('it was proven')),
            (error: FollowerNotProven) => error,
          );
          expect(name).toBe('FollowerNotProven');
          for (const found of [report.missing, report.stale, report.notDeleted])
            expect(found.length).toBeGreaterThan(0);
          expect(message).toContain(`  not deleted:\n    ${report.notDeleted[0]?.name}`);
          expect(message).toContain('no list shows deletions');
          expect(message).toContain('skips all before it');
          expect(message).toContain('docs/guides/following-changes.md');
        },
      );
    },
  );
}
