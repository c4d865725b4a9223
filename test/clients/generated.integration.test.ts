/**
 * Clients that generators make of the document, with their default options, read every answer: now,
 * and after a release that adds fields (a proxy adds one to every object).
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { cacheFolder } from '#local/stack/fetch.ts';
import { findOnPath } from '#local/stack/program.ts';
import { aProduct, MINIMAL } from '#test/changes.ts';
import { openApi } from '#test/documented.ts';
import { useFolder } from '#test/folder.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { send, startHttpProxy } from '#test/http-proxy.ts';
import { javaWith, QUICK } from '#test/java-packages.ts';
import { installPythonPackages } from '#test/python-packages.ts';
import { type Program, prepared, settled } from './programs.ts';

const run = promisify(execFile);
const GENERATED = join(import.meta.dirname, 'generated');
const EXAMPLE = join(import.meta.dirname, '../../docs/examples/generated-client');
const DOCUMENT = join(import.meta.dirname, '../../docs/openapi.json');
/** A download over a slow connection, and a compiler on a busy machine. */
const LIMIT_MS = 600_000;
const OUTPUT = { maxBuffer: 64 * 1_048_576 };
const say = (line: string) => void process.stderr.write(`${line}\n`);

const service = useQueryService();
const folder = useFolder();
/** Adds a field to every object of an answer. Numbers stay as they are written. */
const proxy = useMade(() =>
  startHttpProxy(
    service.url,
    async ({ response, ask }) => {
      const answer = await ask();
      const added = '{"of_the_next_release":{"a":[1,"b"]},';
      const body = answer.body.toString().replaceAll(/\{(?=")/g, added);
      send(response, { ...answer, body });
    },
    '/prod',
  ),
);

const CREDENTIALS = { CLIENT_ID: 'generated', CLIENT_SECRET: 'secret' };
const FACTS = {
  orders: 1,
  notes: 'sem cebola',
  usage_limit: String(2 ** 53 - 1),
  usage_count: String(2 ** 31),
  categories: 1,
  changes: 4,
  whole: 'sem cebola',
};

beforeAll(async () => {
  await service.setKey({ clientId: 'generated' });
  const { coupon, order, category } = MINIMAL;
  await service.apply([
    {
      entity: 'order',
      storeId: 's1',
      id: 'o1',
      data: { ...order, notes: FACTS.notes, created_at: '2026-03-01T12:00:00Z' },
    },
    {
      entity: 'coupon',
      storeId: 's1',
      id: 'c1',
      data: { ...coupon, usage_limit: 2 ** 53 - 1, usage_count: 2 ** 31 },
    },
    { entity: 'category', storeId: 's1', id: 'k1', data: category },
    aProduct('p1', { category_id: 'k1', active: true }),
  ]);
});

/** Walks directly, and through the proxy, whose address has a path like that of a gateway. */
async function walk({ file, args, cwd, env }: Program): Promise<void> {
  for (const url of [service.url, proxy.url]) {
    const given = {
      ...CREDENTIALS,
      BASE_URL: url,
      // Whole minutes and whole seconds.
      CREATED_FROM: '2026-03-01T00:00:00',
      CREATED_TO: '2026-03-01T23:59:59',
    };
    const { stdout } = await run(file, args, {
      cwd,
      env: { ...process.env, ...env, ...given },
      ...OUTPUT,
    });
    expect([url === proxy.url, JSON.parse(stdout)]).toEqual([url === proxy.url, FACTS]);
  }
}

function programOf(name: string): string {
  const file = findOnPath(name, process.env);
  if (file === undefined) throw new Error(`${name} is not installed`);
  return file;
}

/**
 * Generates in a folder of its own.
 * @param fetchTools what needs a toolchain or a download: the reason is printed if it cannot be had. A failing generator fails the test.
 */
async function make<T>(
  context: TestContext,
  fetchTools: (into: string) => Promise<T>,
  build: (tools: T, into: string) => Promise<Program>,
): Promise<void> {
  const into = await mkdtemp(join(folder, 'client-'));
  await walk(await build(await prepared(settled(fetchTools(into)), context), into));
}

const jarsOf = (name: string, title: string, downloadBytes: number) =>
  javaWith({
    title,
    name: title.toLowerCase().replaceAll(' ', '-'),
    downloadBytes,
    pom: join(GENERATED, name, 'pom.xml'),
    checksums: join(GENERATED, name, 'jars.sha256'),
  });

async function python(requirements: string, name: string) {
  const file = programOf('python3');
  const packages = await installPythonPackages(
    { name, requirements },
    cacheFolder(process.env),
    say,
  );
  const path = `${join(packages, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  return {
    file,
    env: { ...process.env, PYTHONPATH: packages, PATH: path, PYTHONDONTWRITEBYTECODE: '1' },
  };
}

describe('a client that docs/examples sets up, by', () => {
  it(
    'openapi-python-client (Python), without warnings, with a class for each error',
    { timeout: LIMIT_MS },
    async (context) => {
      const requirements = join(EXAMPLE, 'python/requirements.txt');
      await make(
        context,
        () => python(requirements, 'openapi-python-client'),
        async ({ file, env }, into) => {
          await cp(join(GENERATED, 'python/walk_client.py'), join(into, 'walk.py'));
          const options = ['generate', '--fail-on-warning', '--meta=none'];
          const paths = [`--path=${DOCUMENT}`, '--output-path=client'];
          await run(file, ['-m', 'openapi_python_client', ...options, ...paths], {
            cwd: into,
            env,
            ...OUTPUT,
          });
          const models = await readdir(join(into, 'client/models'));
          const errors = Object.keys(openApi.components['schemas'] ?? {})
            .filter((name) => name.endsWith('Error'))
            .map((name) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase());
          expect(errors.length).toBeGreaterThan(12);
          expect(errors.filter((name) => !models.includes(`${name}.py`))).toEqual([]);
          return { file, args: ['walk.py'], cwd: into, env };
        },
      );
    },
  );

  it('hey-api (TypeScript)', { timeout: LIMIT_MS }, async (context) => {
    const fetchTools = async (into: string) => {
      const isSource = (path: string) => !/\/(?:node_modules|client)$/.test(path);
      await cp(join(EXAMPLE, 'typescript'), into, { recursive: true, filter: isSource });
      await cp(join(GENERATED, 'typescript/walk.ts'), join(into, 'walk.ts'));
      await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: into,
        ...OUTPUT,
      });
    };
    await make(context, fetchTools, async (_tools, into) => {
      await run('npm', ['run', 'check'], {
        cwd: into,
        env: { ...process.env, DOCUMENT },
        ...OUTPUT,
      });
      const program = (file: string) => {
        const args = ['--disable-warning=ExperimentalWarning', file];
        return { file: process.execPath, args, cwd: into, env: {} };
      };
      const { file, args, cwd } = program('use.ts');
      const env = { ...process.env, ...CREDENTIALS, BASE_URL: proxy.url };
      expect((await run(file, args, { cwd, env })).stdout).toMatch(/^\d+ orders: [\d.]+/);
      return program('walk.ts');
    });
  });
});

const HAS_ALL = process.env['RUNTIMES'] === 'all';
if (!HAS_ALL) say('skipped, other generators: `npm run test:runtimes` has them');

describe.runIf(HAS_ALL)('a client of another generator,', () => {
  it('openapi-generator (Java)', { timeout: LIMIT_MS }, async (context) => {
    const fetchTools = async () => {
      const javac = programOf('javac');
      programOf('mvn');
      const generator = await jarsOf('openapi-generator', 'openapi-generator 7.25.0', 32_000_000);
      const { file, args } = await jarsOf(
        'java',
        'dependencies of a generated Java client 7.25.0',
        7_000_000,
      );
      return { javac, generator, file, jars: args.at(-1) ?? '' };
    };
    await make(context, fetchTools, async ({ javac, generator, file, jars }, into) => {
      const options = ['generate', '-g', 'java', '-i', DOCUMENT, '-o', into];
      const main = 'org.openapitools.codegen.OpenAPIGenerator';
      const { stdout, stderr } = await run(
        generator.file,
        [...generator.args, main, ...options],
        OUTPUT,
      );
      expect(`${stdout}${stderr}`).not.toMatch(/ ERROR /);
      const sources = await readdir(join(into, 'src/main/java'), { recursive: true });
      const files = sources
        .filter((name) => name.endsWith('.java'))
        .map((name) => join(into, 'src/main/java', name));
      const classes = join(into, 'classes');
      const compile = [...QUICK.map((option) => `-J${option}`), '-nowarn', '-d', classes];
      const program = join(GENERATED, 'java/Walk.java');
      await run(javac, [...compile, '-cp', jars, ...files, program], OUTPUT);
      const path = `${classes}${delimiter}${jars}`;
      return { file, args: [...QUICK, '-cp', path, 'Walk'], cwd: into, env: {} };
    });
  });

  it('oapi-codegen (Go)', { timeout: LIMIT_MS }, async (context) => {
    const fetchTools = async (into: string) => {
      const file = programOf('go');
      await cp(join(GENERATED, 'go'), into, { recursive: true });
      await run(file, ['mod', 'download'], { cwd: into });
      return file;
    };
    await make(context, fetchTools, async (file, into) => {
      await mkdir(join(into, 'client'), { recursive: true });
      const generate = [
        'tool',
        'oapi-codegen',
        '-config',
        'config.yaml',
        '-o',
        'client/client.go',
        DOCUMENT,
      ];
      await run(file, generate, { cwd: into, ...OUTPUT });
      await run(file, ['build', '-mod=readonly', '-o', 'walk', '.'], { cwd: into, ...OUTPUT });
      return { file: join(into, 'walk'), args: [], cwd: into, env: {} };
    });
  });

  it('datamodel-code-generator (Pydantic)', { timeout: LIMIT_MS }, async (context) => {
    const requirements = join(GENERATED, 'python/requirements.txt');
    await make(
      context,
      () => python(requirements, 'datamodel-code-generator'),
      async ({ file, env }, into) => {
        await cp(join(GENERATED, 'python/walk_models.py'), join(into, 'walk.py'));
        const options = ['--input', DOCUMENT, '--input-file-type=openapi', '--output=models.py'];
        const models = ['--output-model-type=pydantic_v2.BaseModel'];
        await run(file, ['-m', 'datamodel_code_generator', ...options, ...models], {
          cwd: into,
          env,
          ...OUTPUT,
        });
        return { file, args: ['walk.py'], cwd: into, env };
      },
    );
  });
});
