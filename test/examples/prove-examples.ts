/** `proveFollower` passes the example clients and rejects a client that polls `updated_from`. */
import { cp } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { FollowerNotProven } from '../../deploy/testing/api.d.ts';
import { proveFollower } from '../../deploy/testing/index.ts';
import { useFolder } from '#test/folder.ts';
import { installPython, installTypeScript } from '../deploy/clients/packed.ts';

const EXAMPLE = join(import.meta.dirname, '../../docs/examples/follow-orders');
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
      it('accepts the TypeScript example', { timeout: LIMIT_MS }, async () => {
        const program = join(folder, 'example/follow.ts');
        await installTypeScript(dirname(program));
        await cp(join(EXAMPLE, 'typescript/follow.ts'), program);
        const command = [process.execPath, '--disable-warning=ExperimentalWarning', program];
        expect(await proveFollower({ command, changes })).toMatchObject({ changes, ...RIGHT });
      });

      it('accepts the Python example', { timeout: LIMIT_MS }, async (context) => {
        const { env } = await installPython(context);
        const command = ['python3', join(EXAMPLE, 'python/follow.py')];
        expect(await proveFollower({ command, env, changes })).toMatchObject({ changes, ...RIGHT });
      });

      it(
        'says what a client that polls by updated_from misses, and why',
        { timeout: LIMIT_MS },
        async () => {
          const program = join(import.meta.dirname, 'poll-updated-from.ts');
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
