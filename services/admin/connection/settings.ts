/** Which servers a command works on: those of the environment variables, or those of a local stack that runs here. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Config, describeOwnSettings, readConfig } from '#shared/config.ts';
import { StoreDataError } from '#shared/errors.ts';

/** The part of a running local stack's file (rule R15.1) that commands need. */
const StackFile = Type.Object({
  kafka_brokers: Type.Array(Type.String(), { minItems: 1 }),
  mongodb_uri: Type.String(),
  redis_url: Type.String(),
  environments: Type.Array(Type.String(), { minItems: 1 }),
  name_prefix: Type.Optional(Type.String()),
});
const stackFile = Compile(StackFile);

export const STACK_FILE = join('.local', 'stack.json');

/** The variables that name servers; a stack's file counts only where none of them is set. */
const SERVER_VARIABLES = ['KAFKA_BROKERS', 'MONGODB_URI', 'REDIS_URL'] as const;

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

export interface Connection {
  config: Config;
  /** In words, for messages. */
  origin: string;
}

export interface ConnectionEnvironment {
  /** The variables to read the configuration from, a stack's included. */
  env: NodeJS.ProcessEnv;
  origin: string;
}

/**
 * The variables that apply: the environment's own, and a local stack's beneath them where no server is named.
 * @throws {StoreDataError} `config_invalid` when a stack's file is there but none that we know.
 */
export async function connectionEnvironment(
  env: NodeJS.ProcessEnv,
  folders: readonly string[] = [process.cwd(), REPOSITORY],
): Promise<ConnectionEnvironment> {
  // Servers of one environment beside a local stack for the rest would be a mistake.
  const own = describeOwnSettings(env).map(({ name }) => name);
  if (![...SERVER_VARIABLES, ...own].some((name) => env[name])) {
    for (const folder of folders) {
      const path = join(folder, STACK_FILE);
      const stack = await readStackFile(path);
      if (stack === null) continue;
      const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
      return {
        origin: path,
        env: {
          ENVIRONMENTS: stack.environments.join(','),
          ...(stack.name_prefix === undefined ? {} : { NAME_PREFIX: stack.name_prefix }),
          ...given,
          KAFKA_BROKERS: stack.kafka_brokers.join(','),
          MONGODB_URI: stack.mongodb_uri,
          REDIS_URL: stack.redis_url,
        },
      };
    }
  }
  return { env, origin: 'the environment variables' };
}

/**
 * Reads the configuration that a command works with. An address that is not set is empty: the command that uses its server demands it.
 * @throws {StoreDataError} `config_invalid`, naming every mistake.
 */
export async function readConnection(
  given: NodeJS.ProcessEnv,
  folders?: readonly string[],
): Promise<Connection> {
  const { env, origin } = await connectionEnvironment(given, folders);
  const config = readConfig(env, SERVER_VARIABLES);
  return {
    origin,
    // A request may not wait; an operator may.
    config: {
      ...config,
      redis: { ...config.redis, commandTimeoutMs: Math.max(config.redis.commandTimeoutMs, 2_000) },
    },
  };
}

/** @throws {StoreDataError} `config_invalid` where the address of a server that a command uses is not set. */
export function demandAddress(name: (typeof SERVER_VARIABLES)[number], address: { length: number }): void {
  if (address.length > 0) return;
  throw new StoreDataError(
    'config_invalid',
    `this command needs ${name}: set it, or start a local stack with "npm start", which leaves the addresses of its servers in ${STACK_FILE}`,
  );
}

async function readStackFile(path: string): Promise<Static<typeof StackFile> | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new StoreDataError('config_invalid', `${path} cannot be read`, { cause: error });
  }
  const content = parse(text);
  if (!stackFile.Check(content)) {
    throw new StoreDataError(
      'config_invalid',
      `${path} is not what a running local stack leaves: it needs kafka_brokers, mongodb_uri, redis_url and environments`,
    );
  }
  return content;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
