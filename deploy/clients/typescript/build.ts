/**
 * Builds the package: a module, the same for `require`, their types and the license.
 * @param argument the folder, `dist` unless given
 */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';

const ROOT = join(import.meta.dirname, '../../..');
const DIST = process.argv[2] ?? join(import.meta.dirname, 'dist');
const SOURCE = join(import.meta.dirname, 'index.ts');
const OPTIONS =
  '--ignoreConfig --declaration --emitDeclarationOnly --strict --target es2022 --module nodenext --types node';

rmSync(DIST, { recursive: true, force: true });
const bundles = { 'index.js': 'esm', 'index.cjs': 'cjs' } as const;
for (const [file, format] of Object.entries(bundles)) {
  const output = { file: join(DIST, file), format };
  await build({ input: SOURCE, tsconfig: false, transform: { target: 'es2022' }, output });
}
const args = [...OPTIONS.split(' '), '--allowImportingTsExtensions', '--outDir', DIST, SOURCE];
execFileSync(join(ROOT, 'node_modules/.bin/tsc'), args, { stdio: 'inherit' });
for (const name of ['index', 'types']) {
  const types = readFileSync(join(DIST, `${name}.d.ts`), 'utf8');
  writeFileSync(join(DIST, `${name}.d.ts`), types.replaceAll(`'./types.ts'`, `'./types.js'`));
  writeFileSync(join(DIST, `${name}.d.cts`), types.replaceAll(`'./types.ts'`, `'./types.cjs'`));
}
cpSync(join(ROOT, 'LICENSE'), join(DIST, 'LICENSE'));
