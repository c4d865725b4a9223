import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, it } from 'vitest';
import { words } from '#test/words.ts';
import { projectFiles } from './docs/project-files.ts';

const read = (path: string) => readFileSync(path, 'utf8');

it('nothing outside shared/kafka imports kafkajs', () => {
  const others = projectFiles(['.ts']).filter((path) =>
    /^(?:services|shared(?!\/kafka\/)|deploy)\//.test(path),
  );
  expect(others.length).toBeGreaterThan(100);
  expect(others.filter((path) => /from 'kafkajs|'kafkajs\//.test(read(path)))).toEqual([]);
});

/** The folders and files of a folder from bottom to top: each may import earlier ones. */
const FROM_THE_GROUND_UP = {
  'services/query/': words(
    'metrics.ts deadline.ts batched.ts records responses parameters read rank-tree lists menu',
    'feed access token overload openapi endpoints hooks docs routes declared-routes.ts',
    'print-openapi.ts connections.ts generations.ts services.ts listener.ts app.ts main.ts',
  ),
  'shared/projection/': words(
    'slice dead-letters access erasure projections rank-tree pipeline verify',
  ),
};

it.each(Object.entries(FROM_THE_GROUND_UP))(
  'no folder of %s imports one above it',
  (root, folders) => {
    /** Paths outside are below all. */
    const placeOf = (path: string) => {
      if (!path.startsWith(root)) return -1;
      const [name = ''] = path.slice(root.length).split('/');
      expect(folders).toContain(name);
      return folders.indexOf(name);
    };
    const upward = projectFiles(['.ts'])
      .filter((path) => path.startsWith(root) && !path.includes('/assets/'))
      .flatMap((path) => {
        const named = read(path).matchAll(/(?:from|import) '(\.[^']+)'/g);
        return [...named]
          .map(([, target = '']) => posix.join(posix.dirname(path), target))
          .filter((target) => placeOf(target) > placeOf(path))
          .map((target) => `${path} → ${target}`);
      });
    expect(upward).toEqual([]);
  },
);
