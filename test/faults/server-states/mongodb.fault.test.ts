/**
 * The states of MongoDB between up and down, one by one, under traffic (docs/reliability.md has the
 * same table).
 */
import { createConnection } from 'node:net';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { describe } from 'vitest';
import { useFolder } from '#test/folder.ts';
import { times } from '#test/times.ts';
import { words } from '#test/words.ts';
import {
  commandAt,
  failPoint,
  SERVICE_COMMANDS,
  startReplicaSet,
  WITH_TEST_COMMANDS,
} from '../servers/replica-set.ts';
import type { Server } from '../servers/server.ts';
import { useStates } from './traffic.ts';

const STOPS_APPLYING = 'rsSyncApplyStop';
const OVERLOADED = { errorLabels: ['SystemOverloadedError', 'RetryableError'] };
/** Codes of states, and codes that this release does not know, which half of all commands get. */
const CODES: readonly (readonly [name: string, code: number, more?: object])[] = [
  ['HostUnreachable', 6],
  ['LockTimeout', 24],
  ['MaxTimeMSExpired', 50],
  ['WriteConcernFailed', 64],
  ['NetworkTimeout', 89],
  ['ShutdownInProgress', 91],
  ['WriteConflict', 112],
  ['PrimarySteppedDown', 189],
  ['ExceededTimeLimit', 262],
  ['unknown 406', 406],
  ['unknown 407', 407],
  ['unknown 412', 412],
  ['unknown 433', 433],
  ['unknown 449', 449],
  ['IngressRequestRateLimitExceeded', 462, OVERLOADED],
  ['433 as overload', 433, OVERLOADED],
  ['NotWritablePrimary', 10107],
  ['InterruptedDueToReplStateChange', 11602],
  ['NotPrimaryOrSecondary', 13436],
];

interface Member {
  host: string;
  priority: number;
}

const useMembers = (of: string, size: 1 | 3, dataIn?: () => string, parameters = '') =>
  useStates(`MongoDB, ${of}`, async () => {
    const args = [...WITH_TEST_COMMANDS, ...(size === 1 ? ['--maxConns=200'] : [])];
    const mongodb = await startReplicaSet(size, { args, ...(dataIn && { dataIn: dataIn() }) });
    return { ...mongodb, settings: { MONGODB_URI: `${mongodb.uri}${parameters}` } };
  });

describe('one member of MongoDB', () => {
  const folder = useFolder();
  const [data, snapshot] = [() => join(folder, 'data'), () => join(folder, 'snapshot')];
  const { found, row } = useMembers('one member', 1, data);
  const member = () => found.servers.servers[0] as Server;

  row('steps down', async () => {
    await commandAt(member(), { replSetStepDown: 2, secondaryCatchUpPeriodSecs: 1, force: true });
    return () => found.servers.whole();
  });

  /** Lets commands fail, half of them by default. */
  const failing =
    (data: object, mode: object = { activationProbability: 0.5 }) =>
    () =>
      failPoint(member(), 'failCommand', data, mode);

  for (const [what, errorCode, more] of CODES) {
    row(
      `answers half of all commands with ${what}`,
      failing({ errorCode, ...more, failCommands: SERVICE_COMMANDS }),
      { lastsMs: 2_000 },
    );
  }

  row(
    'answers half of all heartbeats with an error',
    failing({ errorCode: 91, failCommands: words('hello isMaster ping') }),
  );

  const writes = words('insert update findAndModify commitTransaction');
  row(
    'has a slow disk: each write and commit takes half a second longer',
    failing(
      { blockConnection: true, blockTimeMS: 500, failCommands: writes },
      { activationProbability: 1 },
    ),
  );

  row('accepts no more connections', async () => {
    const sockets = times(250, () => createConnection(member().port, '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => undefined);
    return async () => {
      for (const socket of sockets) socket.destroy();
    };
  });

  const restored = (elections: number) => async () => {
    await member().end();
    await rm(snapshot(), { recursive: true, force: true });
    await cp(data(), snapshot(), { recursive: true });
    for (let election = 0; election < elections; election += 1) {
      await member().start();
      await found.servers.whole();
      // Long enough that something is applied, and that the clients know the election.
      await sleep(1_500);
      await member().end();
    }
    return async () => {
      await rm(data(), { recursive: true });
      await cp(snapshot(), data(), { recursive: true });
      await member().start();
      await found.servers.whole();
    };
  };
  row('is restored from a snapshot, without an election meanwhile', restored(0), {
    lastsMs: 1_000,
  });
  row('is restored from a snapshot of two elections ago', restored(2), { lastsMs: 1_000 });
});

describe('three members of MongoDB', () => {
  const { found, row } = useMembers('three members', 3);
  const secondaries = async () => {
    const primary = await found.servers.primary();
    const others = found.servers.servers.filter((server) => server !== primary);
    return others as [Server, Server];
  };
  /** Changes the members in the configuration of the set. */
  const reconfigure = async (change: (member: Member) => void) => {
    const { port } = await found.servers.primary();
    await using client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`);
    const admin = client.db('admin');
    const { config } = (await admin.command({ replSetGetConfig: 1 })) as unknown as {
      config: { version: number; members: Member[] };
    };
    config.version += 1;
    config.members.forEach(change);
    await admin.command({ replSetReconfig: config });
  };

  row('the primary steps down', async () => {
    await commandAt(await found.servers.primary(), { replSetStepDown: 15 });
    return () => found.servers.whole();
  });

  row(
    'another primary is elected by priority',
    async () => {
      const [next] = await secondaries();
      await reconfigure((one) => (one.priority = one.host.endsWith(`:${next.port}`) ? 10 : 1));
      return async () => {
        await reconfigure((one) => (one.priority = 1));
        await found.servers.whole();
      };
    },
    // The takeover begins after some seconds.
    { lastsMs: 15_000 },
  );

  row('both secondaries stop applying, so that no write has a majority', async () => {
    const ends: (() => Promise<unknown>)[] = [];
    for (const server of await secondaries()) ends.push(await failPoint(server, STOPS_APPLYING));
    return () => Promise.all(ends.map((end) => end()));
  });

  row('a member gets another name', async () => {
    const [{ port }] = await secondaries();
    const rename = (from: string, to: string) =>
      reconfigure((one) => (one.host = one.host.replace(`${from}:${port}`, `${to}:${port}`)));
    await rename('127.0.0.1', 'localhost');
    return () => rename('localhost', '127.0.0.1');
  });

  row('a secondary is in maintenance', async () => {
    const [server] = await secondaries();
    await commandAt(server, { replSetMaintenance: 1 });
    return () => commandAt(server, { replSetMaintenance: 0 });
  });

  row('a secondary is frozen and catches up', async () => {
    const [server] = await secondaries();
    await commandAt(server, { replSetFreeze: 5 });
    return failPoint(server, STOPS_APPLYING);
  });
});

describe('three members of MongoDB, read with secondaryPreferred', () => {
  const { found, row } = useMembers(
    'three members, secondaryPreferred',
    3,
    undefined,
    '&readPreference=secondaryPreferred',
  );

  row('the primary steps down', async () => {
    await commandAt(await found.servers.primary(), { replSetStepDown: 15 });
    return () => found.servers.whole();
  });
});
