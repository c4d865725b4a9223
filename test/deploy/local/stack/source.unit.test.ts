// Which source a part is started from, and what is said where none will do.
import { expect, test } from 'vitest';
import type { PartDefinition, StartContext } from '#local/stack/part.ts';
import { chosenTopology, forcedSource, startPart } from '#local/stack/source.ts';
import { startStack } from '#local/stack/stack.ts';

const noEngine = () => Promise.resolve({ absent: 'no Docker engine answers' });

function makePart(overrides: Partial<PartDefinition>): PartDefinition {
  const unexpected = () => Promise.reject(new Error('not to be asked'));
  return {
    name: 'redis',
    addressVariable: 'REDIS_URL',
    imageVariable: 'REDIS_IMAGE',
    portCount: 1,
    clusterSize: 3,
    checkAddress: unexpected,
    locateProgram: unexpected,
    planContainer: () => ({ environment: {}, command: [], dataPath: '/data' }),
    awaitReady: unexpected,
    ...overrides,
  };
}

/** What starting a part looks at before any server is started. */
function makeContext(env: NodeJS.ProcessEnv, lines: string[]): StartContext {
  return {
    env,
    log: (line) => lines.push(line),
    keepData: false,
    guard: {
      pid: 0,
      hold: () => Promise.resolve(),
      release: () => undefined,
      close: () => Promise.resolve(),
    },
    folder: {
      path: '/x',
      part: (name) => name,
      logs: '/x',
      logFile: (name) => name,
      ownerFile: '/x/owner.json',
    },
  };
}

test('STACK_SOURCE takes one of three words', () => {
  expect(forcedSource({})).toBeUndefined();
  expect(forcedSource({ STACK_SOURCE: '' })).toBeUndefined();
  expect(forcedSource({ STACK_SOURCE: 'container' })).toBe('container');
  expect(() => forcedSource({ STACK_SOURCE: 'docker' })).toThrow(
    'STACK_SOURCE is docker, and may be address, container, program',
  );
});

test('a given address that answers is used, and said so', async () => {
  const lines: string[] = [];
  const part = makePart({ checkAddress: () => Promise.resolve() });
  const running = await startPart(
    part,
    undefined,
    noEngine,
    makeContext({ REDIS_URL: 'redis://there' }, lines),
  );
  expect(running).toMatchObject({ source: 'address', address: 'redis://there', reason: 'REDIS_URL is set' });
  expect(lines).toEqual(['an address, since REDIS_URL is set']);
});

test('a given address that does not answer is an error that names it without its password, and no other source', async () => {
  const part = makePart({ checkAddress: () => Promise.reject(new Error('refused')) });
  const context = makeContext({ REDIS_URL: 'redis://me:secret@there:1' }, []);
  await expect(startPart(part, undefined, noEngine, context)).rejects.toThrow(
    'REDIS_URL is redis://there:1, and that does not work: refused',
  );
});

test('without address and engine it is a program, and the reason is told', async () => {
  const lines: string[] = [];
  const part = makePart({ locateProgram: () => Promise.reject(new Error('nowhere')) });
  await expect(startPart(part, undefined, noEngine, makeContext({}, lines))).rejects.toThrow('nowhere');
  expect(lines).toEqual(['a program, since no Docker engine answers']);
});

test('a forced source is taken although another one is there', async () => {
  const lines: string[] = [];
  const part = makePart({ locateProgram: () => Promise.reject(new Error('nowhere')) });
  const context = makeContext({ REDIS_URL: 'redis://there' }, lines);
  await expect(startPart(part, 'program', noEngine, context)).rejects.toThrow('nowhere');
  expect(lines).toEqual(['a program, since STACK_SOURCE is program']);
});

test('a forced source that is not there is an error', async () => {
  const context = makeContext({}, []);
  await expect(startPart(makePart({}), 'address', noEngine, context)).rejects.toThrow('REDIS_URL is not set');
  await expect(startPart(makePart({}), 'container', noEngine, context)).rejects.toThrow(
    'no Docker engine answers',
  );
});

test('the topology is what is asked for, else STACK_TOPOLOGY, else single, and one of two words', () => {
  expect(chosenTopology(undefined, {})).toBe('single');
  expect(chosenTopology(undefined, { STACK_TOPOLOGY: '' })).toBe('single');
  expect(chosenTopology(undefined, { STACK_TOPOLOGY: 'cluster' })).toBe('cluster');
  expect(chosenTopology('single', { STACK_TOPOLOGY: 'cluster' })).toBe('single');
  expect(() => chosenTopology('many', {})).toThrow(
    'the topology (STACK_TOPOLOGY) is many, and may be single, cluster',
  );
});

test('a cluster is made of programs, although an engine is there, and not of containers', async () => {
  const lines: string[] = [];
  const part = makePart({ locateProgram: () => Promise.reject(new Error('nowhere')) });
  const context: StartContext = { ...makeContext({}, lines), topology: 'cluster' };
  const notAsked = () => Promise.reject(new Error('not to be asked'));
  await expect(startPart(part, undefined, notAsked, context)).rejects.toThrow('nowhere');
  expect(lines).toEqual(['a program, since a cluster is made of programs']);
  await expect(startPart(part, 'container', notAsked, context)).rejects.toThrow(
    'a cluster is made of programs, not of containers',
  );
});

test('a cluster keeps no data, and says so before anything is started', async () => {
  const starting = startStack({
    dataFolder: '/x',
    keepData: true,
    topology: 'cluster',
    log: () => undefined,
  });
  await expect(starting).rejects.toThrow('a cluster does not keep its data');
});
