// Which image a server is: the one that the environment names, and else the one of deploy/.env, which Compose reads too.
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

const FILE = new URL('../../../.env', import.meta.url);

/** The variables of deploy/.env. */
export type ImageVariable = 'NODE_IMAGE' | 'KAFKA_IMAGE' | 'MONGO_IMAGE' | 'REDIS_IMAGE' | 'PROXY_IMAGE';

/** The name and version of an image. An empty variable is none. @throws {Error} where no file has it either. */
export function imageOf(variable: ImageVariable, env: NodeJS.ProcessEnv): string {
  const image = env[variable] || parseEnv(readFileSync(FILE, 'utf8'))[variable];
  if (image === undefined) throw new Error(`deploy/.env names no ${variable}`);
  return image;
}
