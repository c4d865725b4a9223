/** A Redis master, its replica and three sentinels, as processes of one test. */
import { Redis } from 'ioredis';
import { freePorts } from '#local/stack/program.ts';
import { eventually } from './eventually.ts';
import { openRedisHome, type RedisProcess, startRedisProcess } from './redis-process.ts';

export interface RedisSentinels {
  /** The variables to connect through the sentinels. */
  settings: Record<string, string>;
  master: RedisProcess;
  replica: RedisProcess;
  /** Lets the sentinels promote the replica. */
  promote: () => Promise<void>;
  /** Stops the first sentinel in the address. */
  killSentinel: () => Promise<void>;
  close: () => Promise<void>;
}

const NAME = 'main';
const PASSWORD = 'of the sentinels';
/**
 * Long, so that a stalled server on a busy machine is not replaced. Sentinels reject a replica that
 * was disconnected ten times as long, which bounds the time of a test between the cut and the kill.
 */
const DOWN_AFTER_MS = 5_000;

export async function startRedisSentinels(): Promise<RedisSentinels> {
  const home = await openRedisHome();
  const [masterPort = 0, replicaPort = 0, ...sentinelPorts] = await freePorts(5);
  const master = await startRedisProcess([], { home, port: masterPort });
  const following = ['--replicaof', '127.0.0.1', String(masterPort)];
  const replica = await startRedisProcess(following, { home, port: replicaPort });
  await followsItsMaster(replica);
  const settings = [
    `requirepass "${PASSWORD}"`,
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} 10000`,
  ];
  const [first, ...others] = await Promise.all(
    sentinelPorts.map((port) => home.launch(port, [], settings)),
  );
  for (const port of sentinelPorts) await knowsTheOthers(port);
  return {
    settings: {
      REDIS_URL: `redis+sentinel://${sentinelPorts.map((port) => `127.0.0.1:${port}`).join()}/${NAME}`,
      REDIS_SENTINEL_PASSWORD: PASSWORD,
    },
    master,
    replica,
    async promote() {
      const sentinel = new Redis({ port: sentinelPorts[0] ?? 0, password: PASSWORD });
      await sentinel.call('SENTINEL', 'FAILOVER', NAME);
      sentinel.disconnect();
    },
    killSentinel: async () => first?.stop(0),
    async close() {
      await Promise.all([first, ...others].map(async (sentinel) => sentinel?.stop(0)));
      await Promise.all([master, replica].map((server) => server.close()));
      await home.close();
    },
  };
}

/**
 * Waits until a sentinel knows the replica and the other sentinels, without which no failover
 * happens.
 */
async function knowsTheOthers(port: number): Promise<void> {
  const sentinel = new Redis({ port, password: PASSWORD });
  // The sentinel may not listen yet.
  sentinel.on('error', () => undefined);
  try {
    await eventually('the sentinels know one another', async () => {
      const told = (await sentinel.call('SENTINEL', 'MASTER', NAME)) as string[];
      const valueOf = (field: string) => told[told.indexOf(field) + 1];
      return valueOf('num-other-sentinels') === '2' && valueOf('num-slaves') === '1';
    });
  } finally {
    sentinel.disconnect();
  }
}

/** Waits until a replica is in sync with its master. */
export async function followsItsMaster({ client }: RedisProcess): Promise<void> {
  await eventually('the replica follows', async () =>
    (await client.info('replication')).includes('master_link_status:up'),
  );
}

/** Cuts replication: a replica that takes over lacks all later writes. */
export async function cutReplication(master: RedisProcess, replica: RedisProcess): Promise<void> {
  await replica.client.config('SET', 'masterauth', 'wrong');
  await master.client.call('CLIENT', 'KILL', 'TYPE', 'replica');
  await eventually('the replica is cut off', async () =>
    (await replica.client.info('replication')).includes('master_link_status:down'),
  );
}
