// Starts one server as a container and waits until it serves.
import { createHash } from 'node:crypto';
import { createWriteStream, writeFileSync } from 'node:fs';
import type { PartDefinition, RunningPart, StartContext } from '../part.ts';
import type { PartExit } from '../program/guarded-process.ts';
import { onFreePorts, readyOrExited } from '../program/start.ts';
import type { Engine } from './engine.ts';

type Container = ReturnType<Engine['container']['dockerode']['getContainer']>;

const GRACE_SECONDS = 20;

/**
 * Starts it on a free port, the same inside and outside, since Kafka and a replica set tell clients their own address.
 * Through the engine's own API and not GenericContainer: the guardian has to know the container before it starts,
 * and then no second container (Ryuk) is needed to remove the first.
 */
export async function startContainer(
  part: PartDefinition,
  engine: Engine,
  image: string,
  context: StartContext,
): Promise<Omit<RunningPart, 'source' | 'reason'>> {
  const logFile = context.folder.logFile(part.name);
  const volume = volumeName(context.folder.path, part.name);
  if (!context.keepData) await removeVolume(engine, volume);
  return onFreePorts(part, context, async (_folder, ports) => {
    const kept = context.keepData ? volume : undefined;
    const container = await createContainer(part, engine, image, ports, kept, context.folder.path);
    await context.guard.hold('container', container.id);
    try {
      await container.start();
      await copyLog(engine, container, logFile);
      const exited = awaitExit(container);
      const address = await readyOrExited(part, hostOf(engine), ports.slice(0, 1), exited);
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

async function createContainer(
  part: PartDefinition,
  engine: Engine,
  image: string,
  ports: readonly number[],
  volume: string | undefined,
  folder: string,
): Promise<Container> {
  const host = hostOf(engine);
  const plan = part.planContainer(ports, host, volume !== undefined);
  const port = `${ports[0]}/tcp`;
  return engine.container.dockerode.createContainer({
    Image: image,
    Env: Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`),
    ...(plan.command.length === 0 ? {} : { Cmd: plan.command }),
    ...(plan.workingFolder === undefined ? {} : { WorkingDir: plan.workingFolder }),
    Labels: { 'store-data.stack': folder, 'store-data.part': part.name },
    ExposedPorts: { [port]: {} },
    HostConfig: {
      // An engine on another machine is not reached through this one's loopback interface.
      PortBindings: { [port]: [{ HostIp: host === LOOPBACK ? LOOPBACK : '', HostPort: String(ports[0]) }] },
      ...(volume === undefined ? {} : { Binds: [`${volume}:${plan.dataPath}`] }),
    },
  });
}

const LOOPBACK = '127.0.0.1';

function hostOf(engine: Engine): string {
  const { host } = engine.info.containerRuntime;
  return host === 'localhost' ? LOOPBACK : host;
}

/** Kept data lies in a named volume: files in a bind mount would belong to the container's users. */
function volumeName(folder: string, part: string): string {
  return `store-data-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}-${part}`;
}

async function removeVolume(engine: Engine, volume: string): Promise<void> {
  // Most often there is none.
  await engine.container.dockerode
    .getVolume(volume)
    .remove()
    .catch(() => undefined);
}

async function copyLog(engine: Engine, container: Container, logFile: string): Promise<void> {
  writeFileSync(logFile, '');
  const output = createWriteStream(logFile, { flags: 'a' });
  const stream = await container.logs({ follow: true, stdout: true, stderr: true });
  engine.container.dockerode.modem.demuxStream(stream, output, output);
  stream.on('end', () => output.end());
  stream.on('error', () => output.end());
}

async function awaitExit(container: Container): Promise<PartExit> {
  const { StatusCode } = (await container.wait()) as { StatusCode: number };
  return { exitCode: StatusCode, signal: null };
}

async function removeContainer(container: Container, context: StartContext): Promise<void> {
  await container.remove({ force: true, v: true }).catch(() => undefined);
  context.guard.release('container', container.id);
}
