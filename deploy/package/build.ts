/**
 * Builds `dist/` for the npm package and the image: JavaScript with source maps, since Node runs no
 * TypeScript in `node_modules`. The repository itself runs without it.
 */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { build, type Plugin } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');

/** Programs, and modules that are loaded by their path. */
const ENTRIES = [
  'services/{admin,projector,query}/main.ts',
  'services/query/routes/*.ts',
  'services/query/docs/unpack-reference-script.ts',
  'deploy/local/stack/guardian.ts',
];

/** Files that the code reads; they keep their paths. */
const FILES = [
  'deploy/.env',
  'deploy/local/stack/*/*.{pom,properties,sha256,txt,xml}',
  'docs/asyncapi.json',
  'docs/guides/*.md',
  'services/admin/help.txt',
  'services/query/docs/assets/*',
  'services/query/openapi/info.md',
  'shared/node-version.js',
];

const FOLDER = /__FOLDER__\("([^"]*)"\)/g;

/**
 * Bundling moves code to other files: `import.meta.dirname` still means the folder of the module.
 */
const folders: Plugin = {
  name: 'folders',
  transform: (code, id) => {
    if (!code.includes('import.meta.dirname')) return null;
    const marked = `__FOLDER__(${JSON.stringify(relative(ROOT, dirname(id)))})`;
    return { code: code.replaceAll('import.meta.dirname', marked), map: null };
  },
  renderChunk: (code, { fileName }) => {
    const placed = code.replaceAll(FOLDER, (_, folder: string) => {
      const path = posix.relative(posix.dirname(fileName), folder);
      return `(import.meta.dirname + ${JSON.stringify(`/${path}`)})`;
    });
    return { code: placed, map: null };
  },
};

rmSync(DIST, { recursive: true, force: true });
const modules = globSync(ENTRIES, { cwd: ROOT });
await build({
  cwd: ROOT,
  platform: 'node',
  plugins: [folders],
  tsconfig: false,
  input: {
    ...Object.fromEntries(modules.map((path) => [path.replace(/\.ts$/, ''), path])),
    'deploy/testing/api': 'deploy/testing/index.ts',
  },
  // npm installs the dependencies; only the project's own files are bundled.
  external: (id) => !/^[./#]/.test(id),
  output: { dir: DIST, sourcemap: true, chunkFileNames: 'chunks/[name]-[hash].js' },
});
for (const path of globSync(FILES, { cwd: ROOT })) cpSync(join(ROOT, path), join(DIST, path));

/**
 * An older Node cannot parse the code, so this checks first. Jest would load the code into a
 * context of its own, where the driver of MongoDB fails: this loads it in Node's.
 */
const load = (vm: string, from: string) => `${vm}
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 16)) {
  throw new Error('Node 24.16 or later is needed, and this is ' + process.versions.node);
}
const createRequire = vm.runInThisContext("process.getBuiltinModule('node:module').createRequire");
const api = createRequire(${from})('./api.js');
`;
const ofModule = load("import vm from 'node:vm';", 'import.meta.url');
const ofCommonJs = load("const vm = require('node:vm');", '__filename');
const exported = Object.keys(await import('../testing/index.ts'));
const types = readFileSync(join(ROOT, 'deploy/testing/api.d.ts'), 'utf8');
const written = {
  'deploy/testing/index.js': `${ofModule}export const { ${exported.join(', ')} } = api;\n`,
  'deploy/testing/index.cjs': `${ofCommonJs}module.exports = { ...api };\n`,
  'deploy/testing/index.d.ts': types,
  'deploy/testing/index.d.cts': types,
  'store-data.js': `#!/usr/bin/env node
import './shared/node-version.js';
await import('./services/admin/main.js');
`,
};
for (const [path, text] of Object.entries(written))
  writeFileSync(join(DIST, path), text, { mode: 0o755 });
