/**
 * Older writes never win: tests every order in which the commands of delayed writers can reach
 * Redis.
 */
import type { ChainableCommander } from 'ioredis';
import { expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import type { AccessKey } from '#shared/access/access-keys.ts';
import {
  publishAll,
  publishedKey,
  redisKeys,
  replaceVersioned,
  setVersioned,
} from '#shared/access/grants.ts';
import { execute, onlyMaster } from '#shared/redis-masters.ts';

const installation = useInstallation({ oneRedis: true });

interface Write {
  version: number;
  member: string;
}

interface RedisCommand {
  name: string;
  args: string[];
}

/** The single commands of a write; the test may interleave commands that MULTI keeps together. */
function commandsOf(key: string, { version, member }: Write): RedisCommand[] {
  const commands: RedisCommand[] = [];
  const recorder: unknown = new Proxy(
    {},
    {
      get:
        (_target, name) =>
        (...args: (string | number)[]) => {
          commands.push({ name: String(name), args: args.map(String) });
          return recorder;
        },
    },
  );
  setVersioned(recorder as ChainableCommander, { redisKey: key, version, member });
  return commands;
}

/** Every interleaving of lists of so many commands, as list numbers. */
function* interleavings(lengths: readonly number[]): Generator<number[]> {
  if (lengths.every((length) => length === 0)) yield [];
  for (const [index, length] of lengths.entries()) {
    if (length === 0) continue;
    for (const rest of interleavings(lengths.with(index, length - 1))) yield [index, ...rest];
  }
}

/**
 * Every assignment of two members to versions, like a key that repeatedly gains and loses a scope.
 */
function* members(count: number): Generator<string[]> {
  for (let bits = 0; bits < 2 ** count; bits += 1) {
    yield times(count, (index) =>
      ((bits >> index) & 1) === 0 ? 'active order' : 'active crm order',
    );
  }
}

interface Trial {
  writes: Write[];
  order: number[];
}

/** The state after each command. */
async function observe(trials: readonly Trial[]): Promise<(Write | null)[][]> {
  const { redis, config } = installation;
  const pipeline = redis.pipeline();
  const places = trials.map(({ writes, order }, number) => {
    const key = `${config.namePrefix}:versioned:${number}`;
    /** @returns the place of the answer. */
    const read = () => pipeline.zrange(key, '0', '0', 'REV', 'WITHSCORES').length - 1;
    pipeline.del(key);
    const queues = writes.map((write) => commandsOf(key, write));
    const next = (index: number) => {
      const command = queues[index]?.shift();
      if (command === undefined) throw new Error('a command is missing');
      pipeline.call(command.name, ...command.args);
      return read();
    };
    return order.map(next);
  });
  const answers = await execute(pipeline);
  return places.map((ofTrial) => ofTrial.map((place) => readAnswer(answers[place])));
}

function readAnswer(answer: unknown): Write | null {
  const [member, version] = answer as string[];
  return member === undefined ? null : { version: Number(version), member };
}

/** The highest begun version, after the first command of each writer. */
function expectedOf({ writes, order }: Trial): (Write | null)[] {
  let highest: Write | null = null;
  return order.map((index) => {
    const write = writes[index];
    if (write !== undefined && write.version > (highest?.version ?? -1)) highest = write;
    return highest;
  });
}

it('the highest version wins after every command of three writers, in every order', async () => {
  const trials = [...members(3)].flatMap((given) => {
    const writes = given.map((member, index) => ({ version: index + 1, member }));
    return [...interleavings(writes.map(() => 2))].map((order): Trial => ({ writes, order }));
  });
  expect(trials).toHaveLength(90 * 8);
  expect(await observe(trials)).toEqual(trials.map(expectedOf));
});

it('a repair that races with a newer write leaves that one', async () => {
  const { redis, config } = installation;
  const key = `${config.namePrefix}:versioned:repair`;
  const held = async () => readAnswer(await redis.zrange(key, '0', '0', 'REV', 'WITHSCORES'));
  const right = { version: 5, member: 'active order' };
  const repair = () => execute(replaceVersioned(redis.multi(), { redisKey: key, ...right }));
  for (const newer of [
    null,
    { version: 6, member: 'active crm order' },
    { version: 6, member: 'revoked' },
  ]) {
    await redis.del(key);
    // The right version with a wrong member.
    await redis.zadd(key, 5, 'active crm order');
    if (newer !== null) {
      await execute(setVersioned(redis.multi(), { redisKey: key, ...newer }));
    }
    await repair();
    expect(await held()).toEqual(newer ?? right);
    expect(await redis.zcard(key)).toBe(1);
  }
});

it('a revoked key stays revoked, whatever version follows', async () => {
  const { redis, config } = installation;
  const publish = (status: AccessKey['status'], version: number) => {
    const key = { _id: 'k1', environment: 'e', store_id: 's1', scopes: [], status, version };
    return publishAll(onlyMaster(redis), [publishedKey(config.namePrefix, key)]);
  };
  await publish('revoked', 20);
  await publish('active', 2 ** 50);
  const { grant } = redisKeys(config.namePrefix, 'e', 's1');
  expect(await redis.zrange(grant('k1'), '0', '-1')).toEqual(['revoked']);
});
