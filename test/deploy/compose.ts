/** Brings up the Compose file under its own project name and port, with a freshly built image. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFile, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Engine, findEngine, imageOf, missingImage } from '#local/stack/container.ts';
import { freePorts } from '#local/stack/program.ts';

const ROOT = join(import.meta.dirname, '../..');
const SERVERS = ['KAFKA_IMAGE', 'MONGO_IMAGE', 'REDIS_IMAGE', 'NODE_IMAGE'] as const;
const MAX_OUTPUT_BYTES = 100 * 1_048_576;

export interface Installed {
  url: string;
  image: string;
  docker: (args: string[]) => Promise<string>;
  /** Runs `docker compose` on this installation. */
  compose: (args: string[], input?: string) => Promise<string>;
  /** Runs a command of the command line, words separated by spaces, in a new container. */
  admin: (command: string, input?: string) => Promise<string>;
  /** Ids of the running containers of one service, or of all. */
  containers: (service?: string) => Promise<string[]>;
  remove: () => Promise<void>;
}

/** The reason why this machine cannot run the Compose file; undefined if it can. */
export async function whyNoCompose(): Promise<string | undefined> {
  const answer = await findEngine();
  if ('absent' in answer) return answer.absent;
  try {
    await run(['compose', 'version'], process.env);
  } catch {
    return 'a Docker engine answers, but there is no `docker compose`';
  }
  for (const variable of SERVERS) {
    const missing = await missingImage(
      answer.engine,
      imageOf(variable, process.env),
      () => undefined,
    );
    if (missing !== undefined) return missing;
  }
  return undefined;
}

/** Builds the image and starts the stack with three query services. */
export async function installWithCompose(): Promise<Installed> {
  const answer = await findEngine();
  if ('absent' in answer) throw new Error(answer.absent);
  const name = `store-data-test-${randomBytes(4).toString('hex')}`;
  const [port = 0] = await freePorts(1);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...(await standIns(answer.engine, name)),
    COMPOSE_PROJECT_NAME: name,
    STORE_DATA_IMAGE: name,
    QUERY_PORT: String(port),
  };
  const docker = (args: string[], input = '') => run(args, env, input);
  const compose = (args: string[], input = '') =>
    docker(['compose', '-f', join(ROOT, 'deploy/compose.yaml'), ...args], input);
  const remove = async () => {
    await compose(['--profile', '*', 'down', '--volumes', '--remove-orphans', '--timeout', '5']);
    await docker(['image', 'rm', '--force', name, standInName(name)]);
  };
  try {
    await compose(['up', '--build', '--detach', '--wait', '--scale', 'query=3']);
  } catch (error) {
    const logs = await compose(['logs', '--tail', '30']).catch(String);
    await remove();
    throw new Error(`the Compose file does not come up: ${String(error)}\n${logs}`, {
      cause: error,
    });
  }
  return {
    url: `http://127.0.0.1:${port}`,
    image: name,
    docker,
    compose,
    admin: (command, input) =>
      compose(['run', '--rm', '--no-TTY', 'admin', ...command.split(' ')], input),
    async containers(service) {
      const ids = await compose(['ps', '--quiet', ...(service === undefined ? [] : [service])]);
      return ids.split('\n').filter(Boolean);
    },
    remove,
  };
}

const standInName = (name: string) => `${name}-base`;

/** Builds a substitute for the proxy and build images if no image can be pulled. */
async function standIns(engine: Engine, name: string): Promise<NodeJS.ProcessEnv> {
  const missing = await missingImage(engine, imageOf('PROXY_IMAGE', process.env), () => undefined);
  if (missing === undefined) return {};
  const context = await mkdtemp(join(tmpdir(), 'store-data-stand-in-'));
  try {
    await cp(join(import.meta.dirname, 'stand-in'), context, { recursive: true });
    const authorities = process.env['NODE_EXTRA_CA_CERTS'];
    const file = join(context, 'authorities.pem');
    await (authorities === undefined ? writeFile(file, '') : copyFile(authorities, file));
    const npm = promisify(execFile);
    const { stdout: version } = await npm('npm', ['--version']);
    await npm('npm', ['pack', `npm@${version.trim()}`, '--pack-destination', context]);
    const base = `NODE_IMAGE=${imageOf('NODE_IMAGE', process.env)}`;
    await run(['build', '--tag', standInName(name), '--build-arg', base, context], process.env);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  return { NODE_IMAGE: standInName(name), PROXY_IMAGE: standInName(name) };
}

async function run(args: string[], env: NodeJS.ProcessEnv, input = ''): Promise<string> {
  const running = promisify(execFile)('docker', args, { env, maxBuffer: MAX_OUTPUT_BYTES });
  running.child.stdin?.end(input);
  return (await running).stdout;
}
