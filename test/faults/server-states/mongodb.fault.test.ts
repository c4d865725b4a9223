/**
 * The states of MongoDB between up and down, one by one, under traffic (docs/reliability.md has the
 * same table).
 */
import { createConnection, type Socket } from 'node:net';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { describe } from 'vitest';
import { useFolder } from '#test/folder.ts';
import {
  commandAt,
  failPoint,
  SERVICE_COMMANDS,
  startReplicaSet,
  WITH_TEST_COMMANDS,
} from '../servers/replica-set.ts';
import type { Server } from '../servers/server.ts';
import { useStates } from './traffic.ts';

const LABELS = ['SystemOverloadedError', 'RetryableError'];
/** Codes of states, and codes that this release does not know, which half of all commands get. */
const CODES: readonly (readonly [name: string, code: number, labels?: string[]])[] = [
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
  ['IngressRequestRateLimitExceeded', 462, LABELS],
  ['433 as overload', 433, LABELS],
  ['NotWritablePrimary', 10107],
  ['InterruptedDueToReplStateChange', 11602],
  ['NotPrimaryOrSecondary', 13436],
];

function failing(server: () => Promise<Server>, data: object, probability = 0.5) {
  return async () => {
    const member = await server();
    await commandAt(member, failPoint('failCommand', { activationProbability: probability }, data));
    return () => commandAt(member, failPoint('failCommand', 'off'));
  };
}

/** @param members of the set. @param parameters of its address, for the services. */
const useMembers = (
  of: string,
  size: 1 | 3,
  {
    dataIn,
    args = [],
    parameters = '',
  }: { dataIn?: () => string; args?: string[]; parameters?: string } = {},
) =>
  useStates(`MongoDB, ${of}`, async () => {
    const options = { ...(dataIn && { dataIn: dataIn() }), args: [...WITH_TEST_COMMANDS, ...args] };
    const mongodb = await startReplicaSet(size, options);
    return { ...mongodb, settings: { MONGODB_URI: `${mongodb.uri}${parameters}` } };
  });

describe('one member of MongoDB', () => {
  const folder = useFolder();
  const [data, snapshot] = [() => join(folder, 'data'), () => join(folder, 'snapshot')];
  const { found, row } = useMembers('one member', 1, { dataIn: data, args: ['--maxConns=200'] });
  const member = () => found.servers.servers[0] as Server;

  row('steps down', async () => {
    await commandAt(member(), { replSetStepDown: 2, secondaryCatchUpPeriodSecs: 1, force: true });
    return () => found.servers.whole();
  });

  for (const [what, errorCode, errorLabels] of CODES) {
    row(
      `answers half of all commands with ${what}`,
      failing(async () => member(), {
        errorCode,
        failCommands: SERVICE_COMMANDS,
        ...(errorLabels === undefined ? {} : { errorLabels }),
      }),
      { lastsMs: 2_000 },
    );
  }

  row(
    'answers half of all heartbeats with an error',
    failing(async () => member(), { errorCode: 91, failCommands: ['hello', 'isMaster', 'ping'] }),
  );

  row(
    'has a slow disk: each write and commit takes half a second longer',
    failing(
      async () => member(),
      {
        blockConnection: true,
        blockTimeMS: 500,
        failCommands: ['insert', 'update', 'findAndModify', 'commitTransaction'],
      },
      1,
    ),
  );

  row('accepts no more connections', async () => {
    const sockets: Socket[] = Array.from({ length: 250 }, () =>
      createConnection(member().port, '127.0.0.1'),
    );
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
  /**
   * Changes the configuration of the set.
   * @param change gets the configuration, with a raised version.
   */
  const reconfigure = async (
    change: (config: { members: { host: string; priority: number }[] }) => void,
  ) => {
    const primary = await found.servers.primary();
    const uri = `mongodb://127.0.0.1:${primary.port}/?directConnection=true`;
    await using client = new MongoClient(uri);
    const admin = client.db('admin');
    const { config } = (await admin.command({ replSetGetConfig: 1 })) as unknown as {
      config: { version: number; members: { host: string; priority: number }[] };
    };
    config.version += 1;
    change(config);
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
      await reconfigure(({ members }) => {
        for (const one of members) one.priority = one.host.endsWith(`:${next?.port}`) ? 10 : 1;
      });
      return async () => {
        await reconfigure(({ members }) => {
          for (const one of members) one.priority = 1;
        });
        await found.servers.whole();
      };
    },
    // The takeover begins after some seconds.
    { lastsMs: 15_000 },
  );

  row('both secondaries stop applying, so that no write has a majority', async () => {
    const stopped = await secondaries();
    for (const server of stopped) await commandAt(server, failPoint('rsSyncApplyStop', 'alwaysOn'));
    return async () => {
      for (const server of stopped) await commandAt(server, failPoint('rsSyncApplyStop', 'off'));
    };
  });

  row('a member gets another name', async () => {
    const [renamed] = await secondaries();
    const rename = (from: string, to: string) =>
      reconfigure(({ members }) => {
        for (const one of members)
          if (one.host === `${from}:${renamed?.port}`) one.host = `${to}:${renamed?.port}`;
      });
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
    await commandAt(server, failPoint('rsSyncApplyStop', 'alwaysOn'));
    return () => commandAt(server, failPoint('rsSyncApplyStop', 'off'));
  });
});

describe('three members of MongoDB, read with secondaryPreferred', () => {
  const { found, row } = useMembers('three members, secondaryPreferred', 3, {
    parameters: '&readPreference=secondaryPreferred',
  });

  row('the primary steps down', async () => {
    await commandAt(await found.servers.primary(), { replSetStepDown: 15 });
    return () => found.servers.whole();
  });
});
