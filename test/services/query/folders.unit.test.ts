import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { projectFiles } from '../../docs/project-files.ts';
import { words } from '#test/words.ts';

/** The folders and files of the query service from bottom to top: each may import earlier ones. */
const FROM_THE_GROUND_UP = words(
  'metrics.ts deadline.ts batched.ts records responses parameters read rank-tree lists menu',
  'feed access token overload openapi endpoints hooks docs routes declared-routes.ts',
  'print-openapi.ts connections.ts generations.ts services.ts listener.ts app.ts main.ts',
);
const ROOT = 'services/query/';

it('no folder of the query service imports one above it', () => {
  const upward = projectFiles(['.ts'])
    .filter((path) => path.startsWith(ROOT) && !path.includes('/assets/'))
    .flatMap((path) => {
      const targets = [...readFileSync(path, 'utf8').matchAll(/(?:from|import) '(\.[^']+)'/g)].map(
        ([, target = '']) => normalize(join(dirname(path), target)),
      );
      return targets
        .filter((target) => placeOf(target) > placeOf(path))
        .map((target) => `${path} → ${target}`);
    });
  expect(upward).toEqual([]);
});

function placeOf(path: string) {
  const [name = ''] = path.slice(ROOT.length).split('/');
  const place = FROM_THE_GROUND_UP.indexOf(name);
  // Paths outside are below all.
  if (place === -1 && path.startsWith(ROOT))
    throw new Error(`${name} is missing in the list of folders`);
  return place;
}
