// Finds a container engine, quickly where there is none, and makes sure that an image is there.
import { existsSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { ContainerRuntimeClient } from 'testcontainers';
import { withTimeLimit } from '#shared/time-limit.ts';
import { reasonOf } from '../errors.ts';

/** The engine's client, as testcontainers found it. */
export type Engine = ContainerRuntimeClient;

export type EngineAnswer = { engine: Engine } | { absent: string };

/** For an engine that hangs; on a busy machine one that does not takes many seconds, loading its client included. */
const ANSWER_LIMIT_MS = 30_000;

/** Asks the engine, where anything hints at one. Where it is said in the environment, it is this process's own. */
export async function findEngine(): Promise<EngineAnswer> {
  // Loading testcontainers costs half a second, and without any of these it would find nothing.
  if (!hasHint()) return { absent: 'no Docker engine answers' };
  try {
    return { engine: await withTimeLimit(ANSWER_LIMIT_MS, late, askEngine) };
  } catch (error) {
    return { absent: `no Docker engine answers (${reasonOf(error)})` };
  }
}

function hasHint(): boolean {
  if (process.platform === 'win32') return true;
  const { DOCKER_HOST, TESTCONTAINERS_HOST_OVERRIDE, XDG_RUNTIME_DIR } = process.env;
  if (DOCKER_HOST !== undefined || TESTCONTAINERS_HOST_OVERRIDE !== undefined) return true;
  const home = homedir();
  const places = [
    '/var/run/docker.sock',
    ...(XDG_RUNTIME_DIR === undefined ? [] : [join(XDG_RUNTIME_DIR, 'docker.sock')]),
    join(home, '.docker/run/docker.sock'),
    join(home, '.docker/desktop/docker.sock'),
    `/run/user/${userInfo().uid}/docker.sock`,
    join(home, '.testcontainers.properties'),
  ];
  return places.some((place) => existsSync(place));
}

async function askEngine(): Promise<Engine> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient();
}

function late(): Error {
  return new Error(`not within ${ANSWER_LIMIT_MS / 1000} s`);
}

const PULL_LIMIT_MS = 10 * 60_000;
const REPORT_MS = 10_000;

/** Undefined when the image is there now; otherwise why it is not. */
export async function missingImage(
  engine: Engine,
  image: string,
  log: (line: string) => void,
): Promise<string | undefined> {
  const { ImageName } = await import('testcontainers');
  const name = ImageName.fromString(image);
  if (await engine.image.exists(name)) return undefined;
  const started = Date.now();
  log(`pulling the image ${image}`);
  const seconds = () => Math.round((Date.now() - started) / 1000);
  const report = setInterval(() => log(`pulling the image ${image}: ${seconds()} s`), REPORT_MS);
  const late = () => new Error(`not done after ${seconds()} s`);
  try {
    await withTimeLimit(PULL_LIMIT_MS, late, () => engine.image.pull(name));
    return undefined;
  } catch (error) {
    return `the image ${image} cannot be pulled (${reasonOf(error)})`;
  } finally {
    clearInterval(report);
  }
}
