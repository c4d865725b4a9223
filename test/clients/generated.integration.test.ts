/**
 * Clients that generators make of the document, with their default options, read every answer: now,
 * and after a release that adds fields (a proxy adds one to every object).
 */
import { globSync } from 'node:fs';
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
import { prepared, prepareGo, preparePython, requireProgram, settled } from './programs.ts';

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
async function walk(file: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
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

/** Makes a folder with files for a client. */
async function roomFor(source: string, name = ''): Promise<string> {
  const into = await mkdtemp(join(folder, 'client-'));
  await cp(join(GENERATED, source), join(into, name), { recursive: true });
  return into;
}

/** What needs a toolchain or a download: the test is skipped if it cannot be had. */
const available = <T>(context: TestContext, tools: Promise<T>) => prepared(settled(tools), context);

describe('a client that docs/examples sets up, by', { timeout: LIMIT_MS }, () => {
  it('openapi-python-client (Python), without warnings, with a class for each error', async (context) => {
    const tools = preparePython(join(EXAMPLE, 'python'), 'openapi-python-client');
    const { file, env } = await available(context, tools);
    const cwd = await roomFor('python/walk_client.py', 'walk.py');
    const options = words('-m openapi_python_client generate --fail-on-warning --meta=none');
    const paths = [`--path=${DOCUMENT}`, '--output-path=client'];
    await run(file, [...options, ...paths], { cwd, env });
    const models = await readdir(join(cwd, 'client/models'));
    const errors = Object.keys(openApi.components['schemas'] ?? {})
      .filter((name) => name.endsWith('Error'))
      .map((name) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase());
    expect(errors.length).toBeGreaterThan(12);
    expect(errors.filter((name) => !models.includes(`${name}.py`))).toEqual([]);
    await walk(file, ['walk.py'], cwd, env);
  });

  it('hey-api (TypeScript)', async (context) => {
    const cwd = await roomFor('typescript');
    const isSource = (path: string) => !/\/(?:node_modules|client)$/.test(path);
    await cp(join(EXAMPLE, 'typescript'), cwd, { recursive: true, filter: isSource });
    await available(
      context,
      run('npm', words('ci --no-audit --no-fund --loglevel=error'), { cwd }),
    );
    await run('npm', ['run', 'check'], { cwd, env: { DOCUMENT } });
    const [file, option] = [process.execPath, '--disable-warning=ExperimentalWarning'];
    const env = { ...CREDENTIALS, BASE_URL: proxy.url };
    expect(await run(file, [option, 'use.ts'], { cwd, env })).toMatch(/^\d+ orders: [\d.]+/);
    await walk(file, [option, 'walk.ts'], cwd);
  });
});

const HAS_ALL = process.env['RUNTIMES'] === 'all';
if (!HAS_ALL) process.stderr.write('skipped, other generators: `npm run test:runtimes` has them\n');

describe.runIf(HAS_ALL)('a client of another generator,', { timeout: LIMIT_MS }, () => {
  it('openapi-generator (Java)', async (context) => {
    const jarsOf = (name: string, title: string, downloadBytes: number) =>
      javaWith({
        title,
        name: title.toLowerCase().replaceAll(' ', '-'),
        downloadBytes,
        pom: join(GENERATED, name, 'pom.xml'),
        checksums: join(GENERATED, name, 'jars.sha256'),
      });
    const fetchTools = async () => {
      requireProgram('mvn');
      const client = await jarsOf(
        'java',
        'dependencies of a generated Java client 7.25.0',
        7_000_000,
      );
      const maker = await jarsOf('openapi-generator', 'openapi-generator 7.25.0', 32_000_000);
      return { javac: requireProgram('javac'), client, maker };
    };
    const { javac, client, maker } = await available(context, fetchTools());
    const cwd = await roomFor('java');
    const logged = '-Dorg.slf4j.simpleLogger.logFile=System.out';
    const main = 'org.openapitools.codegen.OpenAPIGenerator';
    const options = ['generate', '-g', 'java', '-i', DOCUMENT, '-o', cwd];
    const said = await run(maker.file, [...maker.args, logged, main, ...options]);
    expect(said).not.toMatch(/ ERROR /);
    const sources = globSync('src/main/java/**/*.java', { cwd });
    const jars = client.args.at(-1) ?? '';
    const compile = [...QUICK.map((option) => `-J${option}`), '-nowarn', '-d', 'classes'];
    await run(javac, [...compile, '-cp', jars, ...sources, 'Walk.java'], { cwd });
    await walk(client.file, [...QUICK, '-cp', `classes${delimiter}${jars}`, 'Walk'], cwd);
  });

  it('oapi-codegen (Go)', async (context) => {
    const cwd = await roomFor('go');
    const { file } = await available(context, prepareGo(cwd));
    await mkdir(join(cwd, 'client'), { recursive: true });
    const generate = words('tool oapi-codegen -config config.yaml -o client/client.go');
    await run(file, [...generate, DOCUMENT], { cwd });
    await run(file, words('build -mod=readonly -o walk .'), { cwd });
    await walk(join(cwd, 'walk'), [], cwd);
  });

  it('datamodel-code-generator (Pydantic)', async (context) => {
    const tools = preparePython(join(GENERATED, 'python'), 'datamodel-code-generator');
    const { file, env } = await available(context, tools);
    const cwd = await roomFor('python/walk_models.py', 'walk.py');
    const options = words(
      '-m datamodel_code_generator --input-file-type=openapi --output=models.py',
      '--output-model-type=pydantic_v2.BaseModel --input',
    );
    await run(file, [...options, DOCUMENT], { cwd, env });
    await walk(file, ['walk.py'], cwd, env);
  });
});
