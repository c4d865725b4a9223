// Chooses where a part comes from, says so in one line, and starts it: an address, a container, or a program.
import { readAddress, shownAddress } from '#shared/address.ts';
import { type EngineAnswer, imageOf, missingImage, startContainer } from './container.ts';
import type { PartDefinition, PartSource, RunningPart, StartContext, Topology } from './part.ts';
import { reasonOf, StackError } from './wait.ts';
import { startProgram } from './program.ts';

const SOURCES: readonly PartSource[] = ['address', 'container', 'program'];

/** The source that `STACK_SOURCE` forces on all parts, if any. */
export function forcedSource(env: NodeJS.ProcessEnv): PartSource | undefined {
  const wanted = env['STACK_SOURCE'];
  if (wanted === undefined || wanted === '') return undefined;
  const source = SOURCES.find((known) => known === wanted);
  if (source === undefined)
    throw new StackError(`STACK_SOURCE is ${wanted}, and may be ${SOURCES.join(', ')}`);
  return source;
}

const TOPOLOGIES: readonly Topology[] = ['single', 'cluster'];

/** Whether one of each server is started, or a cluster of each: what is asked for, else what `STACK_TOPOLOGY` says. */
export function chosenTopology(asked: string | undefined, env: NodeJS.ProcessEnv): Topology {
  const wanted = asked ?? (env['STACK_TOPOLOGY'] || 'single');
  const topology = TOPOLOGIES.find((known) => known === wanted);
  if (topology === undefined) {
    throw new StackError(`the topology (STACK_TOPOLOGY) is ${wanted}, and may be ${TOPOLOGIES.join(', ')}`);
  }
  return topology;
}

/** Whether the part's address is given, and used. */
export function isGiven(
  part: PartDefinition,
  forced: PartSource | undefined,
  env: NodeJS.ProcessEnv,
): boolean {
  return (forced ?? 'address') === 'address' && (env[part.addressVariable] ?? '') !== '';
}

/** Starts the part from the first source that is there, in the order of SOURCES. */
export async function startPart(
  part: PartDefinition,
  forced: PartSource | undefined,
  engine: () => Promise<EngineAnswer>,
  context: StartContext,
): Promise<RunningPart> {
  const address = context.env[part.addressVariable] ?? '';
  if (isGiven(part, forced, context.env)) return useAddress(part, address, context);
  if (forced === 'address') throw new StackError(`${part.addressVariable} is not set`);
  const why: string[] = forced === undefined ? [] : [`STACK_SOURCE is ${forced}`];
  if (context.topology === 'cluster') {
    if (forced === 'container') throw new StackError('a cluster is made of programs, not of containers');
    why.push('a cluster is made of programs');
  } else if (forced !== 'program') {
    const image = imageOf(part.imageVariable, context.env);
    const answer = await engine();
    const missing =
      'absent' in answer ? answer.absent : await missingImage(answer.engine, image, context.log);
    if (!('absent' in answer) && missing === undefined) {
      return useContainer(part, answer.engine, image, why, context);
    }
    if (forced === 'container') throw new StackError(missing);
    why.push(missing ?? '');
  }
  return useProgram(part, why, context);
}

async function useAddress(
  part: PartDefinition,
  address: string,
  context: StartContext,
): Promise<RunningPart> {
  if (readAddress(address) === null) {
    throw new StackError(`${part.addressVariable} is not an address whose host is certain`);
  }
  const reason = `${part.addressVariable} is set`;
  context.log(`an address, since ${reason}`);
  try {
    await part.checkAddress(address);
  } catch (error) {
    const shown = shownAddress(address);
    throw new StackError(`${part.addressVariable} is ${shown}, and that does not work: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  return {
    source: 'address',
    reason,
    address,
    exited: new Promise(() => undefined),
    stop: () => Promise.resolve(),
  };
}

async function useContainer(
  part: PartDefinition,
  engine: Parameters<typeof startContainer>[1],
  image: string,
  why: readonly string[],
  context: StartContext,
): Promise<RunningPart> {
  const reason = [...why, `a Docker engine answers and has the image ${image}`].join(', ');
  context.log(`a container, since ${reason}`);
  return { source: 'container', reason, ...(await startContainer(part, engine, image, context)) };
}

async function useProgram(
  part: PartDefinition,
  why: readonly string[],
  context: StartContext,
): Promise<RunningPart> {
  context.log(`a program, since ${why.join(', ')}`);
  const program = await part.locateProgram(context);
  const reason = `${program.description}, since ${why.join(', ')}`;
  return { source: 'program', reason, ...(await startProgram(part, program, context)) };
}
