/**
 * Clients that generators make of the document, with their default options, read every answer: now,
 * and after a release that adds fields (a proxy adds one to every object).
 */
import { cp, mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { aCategory, aCoupon, anOrder, aProduct } from '#test/changes.ts';
import { openApi } from '#test/documented.ts';
import { useFolder } from '#test/folder.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { send, startHttpProxy } from '#test/http-proxy.ts';
import { javaWith, QUICK } from '#test/java-packages.ts';
import { run } from '#test/run.ts';
import { words } from '#test/words.ts';
import {
  prepared,
  prepareGo,
  preparePython,
  type Program,
  requireProgram,
  settled,
} from './programs.ts';

const GENERATED = join(import.meta.dirname, 'generated');
const EXAMPLE = join(import.meta.dirname, '../../docs/examples/generated-client');
const DOCUMENT = join(import.meta.dirname, '../../docs/openapi.json');
/** A download over a slow connection, and a compiler on a busy machine. */
const LIMIT_MS = 600_000;

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
  await service.apply([
    anOrder('o1', { notes: FACTS.notes, created_at: '2026-03-01T12:00:00Z' }),
    aCoupon('c1', { usage_limit: 2 ** 53 - 1, usage_count: 2 ** 31 }),
    aCategory('k1'),
    aProduct('p1', { category_id: 'k1', active: true }),
  ]);
});

/** Walks directly, and through the proxy, whose address has a path like that of a gateway. */
async function walk({ file, args, cwd, env }: Program): Promise<void> {
  for (const url of [service.url, proxy.url]) {
    const given = {
      ...env,
      ...CREDENTIALS,
      BASE_URL: url,
      // Whole minutes and whole seconds.
      CREATED_FROM: '2026-03-01T00:00:00',
      CREATED_TO: '2026-03-01T23:59:59',
    };
    const facts: unknown = JSON.parse(await run(file, args, { cwd, env: given }));
    expect({ url, facts }).toEqual({ url, facts: FACTS });
  }
}

/**
 * Generates in a folder of its own.
 * @param fetchTools what needs a toolchain or a download: the reason is printed if it cannot be had. A failing generator fails the test.
 */
async function make<T>(
  context: TestContext,
  fetchTools: (into: string) => Promise<T>,
  build: (tools: T, into: string) => Promise<Omit<Program, 'cwd'>>,
): Promise<void> {
  const into = await mkdtemp(join(folder, 'client-'));
  const tools = await prepared(settled(fetchTools(into)), context);
  await walk({ ...(await build(tools, into)), cwd: into });
}

const jarsOf = (name: string, title: string, downloadBytes: number) =>
  javaWith({
    title,
    name: title.toLowerCase().replaceAll(' ', '-'),
    downloadBytes,
    pom: join(GENERATED, name, 'pom.xml'),
    checksums: join(GENERATED, name, 'jars.sha256'),
  });

describe('a client that docs/examples sets up, by', () => {
  it(
    'openapi-python-client (Python), without warnings, with a class for each error',
    { timeout: LIMIT_MS },
    async (context) => {
      await make(
        context,
        () => preparePython(join(EXAMPLE, 'python'), 'openapi-python-client'),
        async ({ file, env }, into) => {
          await cp(join(GENERATED, 'python/walk_client.py'), join(into, 'walk.py'));
          const options = ['generate', '--fail-on-warning', '--meta=none'];
          const paths = [`--path=${DOCUMENT}`, '--output-path=client'];
          const generate = ['-m', 'openapi_python_client', ...options, ...paths];
          await run(file, generate, { cwd: into, env });
          const models = await readdir(join(into, 'client/models'));
          const errors = Object.keys(openApi.components['schemas'] ?? {})
            .filter((name) => name.endsWith('Error'))
            .map((name) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase());
          expect(errors.length).toBeGreaterThan(12);
          expect(errors.filter((name) => !models.includes(`${name}.py`))).toEqual([]);
          return { file, args: ['walk.py'], env };
        },
      );
    },
  );

  it('hey-api (TypeScript)', { timeout: LIMIT_MS }, async (context) => {
    const fetchTools = async (into: string) => {
      const isSource = (path: string) => !/\/(?:node_modules|client)$/.test(path);
      await cp(join(EXAMPLE, 'typescript'), into, { recursive: true, filter: isSource });
      await cp(join(GENERATED, 'typescript/walk.ts'), join(into, 'walk.ts'));
      await run('npm', words('ci --no-audit --no-fund --loglevel=error'), { cwd: into });
    };
    await make(context, fetchTools, async (_tools, into) => {
      await run('npm', ['run', 'check'], { cwd: into, env: { DOCUMENT } });
      const options = ['--disable-warning=ExperimentalWarning'];
      const env = { ...CREDENTIALS, BASE_URL: proxy.url };
      const used = await run(process.execPath, [...options, 'use.ts'], { cwd: into, env });
      expect(used).toMatch(/^\d+ orders: [\d.]+/);
      return { file: process.execPath, args: [...options, 'walk.ts'] };
    });
  });
});

const HAS_ALL = process.env['RUNTIMES'] === 'all';
if (!HAS_ALL) process.stderr.write('skipped, other generators: `npm run test:runtimes` has them\n');

describe.runIf(HAS_ALL)('a client of another generator,', () => {
  it('openapi-generator (Java)', { timeout: LIMIT_MS }, async (context) => {
    const fetchTools = async () => {
      const javac = requireProgram('javac');
      requireProgram('mvn');
      const title = 'dependencies of a generated Java client 7.25.0';
      const { file, args } = await jarsOf('java', title, 7_000_000);
      const generator = await jarsOf('openapi-generator', 'openapi-generator 7.25.0', 32_000_000);
      return { javac, generator, file, jars: args.at(-1) ?? '' };
    };
    await make(context, fetchTools, async ({ javac, generator, file, jars }, into) => {
      const options = ['generate', '-g', 'java', '-i', DOCUMENT, '-o', into];
      const logged = '-Dorg.slf4j.simpleLogger.logFile=System.out';
      const main = 'org.openapitools.codegen.OpenAPIGenerator';
      const said = await run(generator.file, [...generator.args, logged, main, ...options]);
      expect(said).not.toMatch(/ ERROR /);
      const sources = await readdir(join(into, 'src/main/java'), { recursive: true });
      const files = sources
        .filter((name) => name.endsWith('.java'))
        .map((name) => join(into, 'src/main/java', name));
      const classes = join(into, 'classes');
      const compile = [...QUICK.map((option) => `-J${option}`), '-nowarn', '-d', classes];
      const program = join(GENERATED, 'java/Walk.java');
      await run(javac, [...compile, '-cp', jars, ...files, program]);
      return { file, args: [...QUICK, '-cp', `${classes}${delimiter}${jars}`, 'Walk'] };
    });
  });

  it('oapi-codegen (Go)', { timeout: LIMIT_MS }, async (context) => {
    const fetchTools = async (into: string) => {
      await cp(join(GENERATED, 'go'), into, { recursive: true });
      return prepareGo(into);
    };
    await make(context, fetchTools, async ({ file }, into) => {
      await mkdir(join(into, 'client'), { recursive: true });
      const generate = words('tool oapi-codegen -config config.yaml -o client/client.go');
      await run(file, [...generate, DOCUMENT], { cwd: into });
      await run(file, words('build -mod=readonly -o walk .'), { cwd: into });
      return { file: join(into, 'walk'), args: [] };
    });
  });

  it('datamodel-code-generator (Pydantic)', { timeout: LIMIT_MS }, async (context) => {
    await make(
      context,
      () => preparePython(join(GENERATED, 'python'), 'datamodel-code-generator'),
      async ({ file, env }, into) => {
        await cp(join(GENERATED, 'python/walk_models.py'), join(into, 'walk.py'));
        const options = ['--input', DOCUMENT, '--input-file-type=openapi', '--output=models.py'];
        const models = '--output-model-type=pydantic_v2.BaseModel';
        const generate = ['-m', 'datamodel_code_generator', ...options, models];
        await run(file, generate, { cwd: into, env });
        return { file, args: ['walk.py'], env };
      },
    );
  });
});
