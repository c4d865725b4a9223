/** Who runs a command. */
import { hostname, userInfo } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { WrongUsage } from '../options.ts';

/** The variable that names the actor where the command line does not. */
export const ACTOR_VARIABLE = 'STORE_DATA_ACTOR';

const ACTOR_PATTERN = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]{1,128}$/u;

/** An argument that names an actor. */
export function actor(text: string): string {
  if (!ACTOR_PATTERN.test(text)) {
    throw new InvalidArgumentError('An actor is 1 to 128 characters without control characters.');
  }
  return text;
}

/** The name in the environment, else the user and the machine. @throws {WrongUsage} when that name cannot be one. */
export function actorOf(env: NodeJS.ProcessEnv): string {
  const named = env[ACTOR_VARIABLE];
  if (named === undefined || named === '') return `${userName()}@${hostname()}`;
  if (!ACTOR_PATTERN.test(named)) {
    throw new WrongUsage(`${ACTOR_VARIABLE} must be 1 to 128 characters without control characters`);
  }
  return named;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user often has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
