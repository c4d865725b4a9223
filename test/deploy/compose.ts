/** Brings up the Compose file under its own project name and port, with a freshly built image. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePorts } from '#local/stack/program.ts';
import { run } from '#test/run.ts';
import { missingContainer } from './local/stack/sources.ts';

const ROOT = join(import.meta.dirname, '../..');
const SERVERS = ['KAFKA_IMAGE', 'MONGO_IMAGE', 'REDIS_IMAGE', 'NODE_IMAGE', 'PROXY_IMAGE'] as const;

export interface Installed {
  url: string;
  image: string;
  docker: (args: string[]) => Promise<string>;
  /** Runs a command of the command line, words separated by spaces, in a new container. */
  admin: (command: string, input?: string) => Promise<string>;
  /** Ids of the running containers of one service, or of all. */
  containers: (service?: string) => Promise<string[]>;
  remove: () => Promise<void>;
}

/** The reason why this machine cannot run the Compose file; undefined if it can. */
export async function whyNoCompose(): Promise<string | undefined> {
  const missing = await missingContainer(SERVERS);
  if (missing !== undefined) return missing;
  return run('docker', ['compose', 'version']).then(
    () => undefined,
    () => 'a Docker engine answers, but there is no `docker compose`',
  );
}

/** Builds the image and starts the stack with three query services. */
export async function installWithCompose(): Promise<Installed> {
  const name = `store-data-test-${randomBytes(4).toString('hex')}`;
  const [port = 0] = await freePorts(1);
  const env = {
    COMPOSE_PROJECT_NAME: name,
    STORE_DATA_IMAGE: name,
    QUERY_PORT: String(port),
  };
  const docker = (args: string[], input = '') => run('docker', args, { env, input });
  const compose = (args: string[], input = '') =>
    docker(['compose', '-f', join(ROOT, 'deploy/compose.yaml'), ...args], input);
  const remove = async () => {
    await compose(['--profile', '*', 'down', '--volumes', '--remove-orphans', '--timeout', '5']);
    await docker(['image', 'rm', '--force', name]);
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
    admin: (command, input) =>
      compose(['run', '--rm', '--no-TTY', 'admin', ...command.split(' ')], input),
    async containers(service) {
      const ids = await compose(['ps', '--quiet', ...(service === undefined ? [] : [service])]);
      return ids.split('\n').filter(Boolean);
    },
    remove,
  };
}
