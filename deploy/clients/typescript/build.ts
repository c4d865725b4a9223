/** Writes `dist/` for the package: a module, the same for `require`, and their types. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';

const DIST = join(import.meta.dirname, 'dist');

rmSync(DIST, { recursive: true, force: true });
for (const [format, file] of [
  ['esm', 'index.js'],
  ['cjs', 'index.cjs'],
] as const) {
  await build({
    input: join(import.meta.dirname, 'index.ts'),
    tsconfig: false,
    transform: { target: 'es2022' },
    output: { file: join(DIST, file), format },
  });
}
const options =
  '--ignoreConfig --declaration --emitDeclarationOnly --strict --target es2022 --module nodenext --types node';
const tsc = join(import.meta.dirname, '../../../node_modules/.bin/tsc');
const files = [join(import.meta.dirname, 'index.ts')];
execFileSync(tsc, [...options.split(' '), '--allowImportingTsExtensions', '--outDir', DIST, ...files], {
  stdio: 'inherit',
});
for (const name of ['index', 'types']) {
  const text = readFileSync(join(DIST, `${name}.d.ts`), 'utf8');
  for (const ending of ['js', 'cjs']) {
    const types = join(DIST, `${name}.d.${ending === 'js' ? 'ts' : 'cts'}`);
    writeFileSync(types, text.replaceAll("'./types.ts'", `'./types.${ending}'`));
  }
}
