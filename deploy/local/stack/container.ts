// Finds a container engine, pulls a missing image, and starts one server as a container.
import { createHash } from 'node:crypto';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { ContainerRuntimeClient } from 'testcontainers';
import { withTimeLimit } from '#shared/waiting.ts';
import {
  LOOPBACK,
  reasonOf,
  type ImageVariable,
  type PartDefinition,
  StackError,
  type StartContext,
  withReports,
} from './part.ts';
import { onFreePorts, readyOrExited } from './program.ts';

export type Engine = ContainerRuntimeClient;

/** A healthy engine may take many seconds on a busy machine. */
const ANSWER_LIMIT_MS = 30_000;

/** Finds the Docker engine of this machine. @throws {StackError} with the reason if there is none. */
export async function findEngine(): Promise<Engine> {
  const late = () => new Error(`not within ${ANSWER_LIMIT_MS / 1000} s`);
  const find = async () => (await import('testcontainers')).getContainerRuntimeClient();
  const engine = await withTimeLimit(ANSWER_LIMIT_MS, late, find).catch((error: unknown) => {
    throw new StackError(`no Docker engine answers (${reasonOf(error)})`);
  });
  const { host } = engine.info.containerRuntime;
  if (host === 'localhost') return engine;
  throw new StackError(`the Docker engine is on another machine (${host})`);
}

const PULL_LIMIT_MS = 10 * 60_000;

/** Pulls an image that is missing. @throws {StackError} that says why it cannot. */
export async function ensureImage(
  engine: Engine,
  image: string,
  log: (line: string) => void,
): Promise<void> {
  const { ImageName } = await import('testcontainers');
  const name = ImageName.fromString(image);
  if (await engine.image.exists(name)) return;
  const late = () => new Error(`not done after ${PULL_LIMIT_MS / 60_000} min`);
  const pull = () => withTimeLimit(PULL_LIMIT_MS, late, () => engine.image.pull(name));
  await withReports(`pulling the image ${image}`, log, pull).catch((error: unknown) => {
    throw new StackError(`the image ${image} cannot be pulled (${reasonOf(error)})`);
  });
}

const FILE = join(import.meta.dirname, '../../.env');

/**
 * The name and version of an image, from the environment or deploy/.env.
 * @throws {Error} if neither names it.
 */
export function imageOf(variable: ImageVariable, env: NodeJS.ProcessEnv): string {
  const image = env[variable] || parseEnv(readFileSync(FILE, 'utf8'))[variable];
  if (image === undefined) throw new Error(`deploy/.env names no ${variable}`);
  return image;
}

type Container = ReturnType<Engine['container']['dockerode']['getContainer']>;

const GRACE_SECONDS = 20;

/**
 * Starts it on a free port, the same inside and outside, since Kafka and replica sets announce
 * their own address. Not by GenericContainer, which publishes ports on every interface: these
 * servers have no passwords. The guardian removes the container, so Ryuk is not needed.
 */
export async function startContainer(
  part: PartDefinition,
  engine: Engine,
  image: string,
  context: StartContext,
) {
  const logFile = context.folder.logFile(part.name);
  // Kept data lies in a named volume: in a bind mount its files would belong to the container's
  // users.
  const stackName = createHash('sha256').update(context.folder.path).digest('hex').slice(0, 12);
  const volume = `store-data-${stackName}-${part.name}`;
  const { dockerode } = engine.container;
  // Usually there is no such volume.
  if (!context.keepData)
    await dockerode
      .getVolume(volume)
      .remove()
      .catch(() => undefined);
  return onFreePorts(part, context, async (_folder, ports) => {
    const plan = part.planContainer(ports, context.keepData);
    const port = `${ports[0]}/tcp`;
    const container = await dockerode.createContainer({
      Image: image,
      Env: Object.entries(plan.environment ?? {}).map(([name, value]) => `${name}=${value}`),
      ...(plan.command && { Cmd: plan.command }),
      Labels: { 'store-data.stack': context.folder.path, 'store-data.part': part.name },
      ExposedPorts: { [port]: {} },
      HostConfig: {
        PortBindings: { [port]: [{ HostIp: LOOPBACK, HostPort: String(ports[0]) }] },
        ...(context.keepData && { Binds: [`${volume}:${plan.dataPath}`] }),
      },
    });
    await context.guard.hold('container', container.id);
    try {
      await container.start();
      await copyLog(engine, container, logFile);
      const exited = container
        .wait()
        .then(({ StatusCode: exitCode }) => ({ exitCode, signal: null }));
      const address = await readyOrExited(part, ports.slice(0, 1), exited);
      const stop = async () => {
        if (context.keepData) await container.stop({ t: GRACE_SECONDS }).catch(() => undefined);
        await removeContainer(container, context);
      };
      return { address, logFile, exited, stop };
    } catch (error) {
      await removeContainer(container, context);
      throw error;
    }
  });
}

async function copyLog(engine: Engine, container: Container, logFile: string): Promise<void> {
  writeFileSync(logFile, '');
  const output = createWriteStream(logFile, { flags: 'a' });
  const stream = await container.logs({ follow: true, stdout: true, stderr: true });
  engine.container.dockerode.modem.demuxStream(stream, output, output);
  stream.on('end', () => output.end());
  stream.on('error', () => output.end());
}

async function removeContainer(container: Container, context: StartContext): Promise<void> {
  await container.remove({ force: true, v: true }).catch(() => undefined);
  context.guard.release('container', container.id);
}
