/** The local stack without its servers: folders, ports, logs, sources and settings. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cacheFolder, requirePlatform } from '#local/stack/fetch.ts';
import { claimFolder, dataFolderAt, type PartDefinition, type StartContext } from '#local/stack/part.ts';
import { brokerSettings } from '#local/stack/kafka/kafka.ts';
import { lastLines } from '#local/stack/process.ts';
import { freePorts } from '#local/stack/program.ts';
import { chosenTopology, forcedSource, startPart, startStack } from '#local/stack/stack.ts';
import { useFolder } from '#test/folder.ts';

const path = useFolder({ ofEachTest: true });

/** The id of a process that has ended. */
function endedPid(): number {
  return spawnSync('true').pid;
}

test('a folder whose owner lives is refused', async () => {
  const folder = dataFolderAt(path);
  await claimFolder(folder, process.pid);
  await expect(claimFolder(folder, process.pid)).rejects.toThrow(`process ${process.pid} runs a stack in ${path}`);
});

test('a folder that cannot be made is told, with the option that names another one', async () => {
  const below = dataFolderAt(join(path, 'file', 'folder'));
  writeFileSync(join(path, 'file'), '');
  await expect(claimFolder(below, process.pid)).rejects.toThrow(/ENOTDIR.*: npm start -- --folder <path>/);
});

test('a dead owner, or a later process with its id, does not count', async () => {
  const folder = dataFolderAt(path);
  const dead = { pid: endedPid(), started: '1' };
  writeFileSync(folder.ownerFile, JSON.stringify({ owner: dead, guardian: dead }));
  await claimFolder(folder, process.pid);
  const earlier = { pid: process.pid, started: '1' };
  writeFileSync(folder.ownerFile, JSON.stringify({ owner: earlier, guardian: dead }));
  await claimFolder(folder, process.pid);
});

const listeners = { bind: '0.0.0.0', advertised: '127.0.0.1', port: 9092, controllerPort: 9093 };

test('one of three brokers knows the controllers of all, and keeps three copies', () => {
  const ports = [
    [9001, 9002],
    [9092, 9093],
    [9201, 9202],
  ];
  const settings = brokerSettings(listeners, '/data', { index: 1, ports });
  expect(settings).toMatchObject({
    'node.id': '2',
    'controller.quorum.voters': '1@127.0.0.1:9002,2@127.0.0.1:9093,3@127.0.0.1:9202',
    'default.replication.factor': '3',
    'min.insync.replicas': '2',
  });
});

function logWith(text: string): string {
  const file = join(path, 'x.log');
  writeFileSync(file, text);
  return file;
}

test('has the last lines that say something', () => {
  expect(lastLines(logWith('one\n\ntwo \nthree\n\n'), 2)).toEqual(['two', 'three']);
});

test('where ports above them are to be free too, there are such', async () => {
  const ports = await freePorts(6, 10_000);
  expect(new Set(ports).size).toBe(6);
  expect(Math.max(...ports)).toBeLessThanOrEqual(65_535 - 10_000);
});

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

test('a forced source that is not there is an error', async () => {
  const context = makeContext({}, []);
  await expect(startPart(makePart({}), 'address', noEngine, context)).rejects.toThrow('REDIS_URL is not set');
  await expect(startPart(makePart({}), 'container', noEngine, context)).rejects.toThrow('no Docker engine answers');
});

test('the topology is what is asked for, else STACK_TOPOLOGY, else single, and one of two words', () => {
  expect(chosenTopology(undefined, {})).toBe('single');
  expect(chosenTopology(undefined, { STACK_TOPOLOGY: '' })).toBe('single');
  expect(chosenTopology(undefined, { STACK_TOPOLOGY: 'cluster' })).toBe('cluster');
  expect(chosenTopology('single', { STACK_TOPOLOGY: 'cluster' })).toBe('single');
  expect(() => chosenTopology('many', {})).toThrow('the topology (STACK_TOPOLOGY) is many, and may be single, cluster');
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

test('another platform is told what to do instead', () => {
  expect(() => requirePlatform('linux', 'x64')).not.toThrow();
  expect(() => requirePlatform('darwin', 'arm64')).toThrow(/darwin on arm64.*Docker.*KAFKA_BROKERS/);
  expect(() => requirePlatform('linux', 'arm64')).toThrow(/linux on arm64/);
});

describe('the cache is', () => {
  test('where STORE_DATA_CACHE says', () => {
    expect(cacheFolder({ STORE_DATA_CACHE: '/own', XDG_CACHE_HOME: '/xdg' })).toBe('/own');
  });

  test('else with the other caches of the user', () => {
    expect(cacheFolder({ STORE_DATA_CACHE: '', XDG_CACHE_HOME: '/xdg' })).toBe('/xdg/store-data');
    expect(cacheFolder({})).toBe(`${homedir()}/.cache/store-data`);
  });
});
