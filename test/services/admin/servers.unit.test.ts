import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectRefused, runCommand } from './run-command.ts';
import { readConnection } from '#admin/servers.ts';
import { useFolder } from '#test/folder.ts';

/** What commands read in the file of a running stack. */
const STACK = JSON.stringify({
  kafka_brokers: ['127.0.0.1:2'],
  mongodb_uri: 'mongodb://127.0.0.1:3',
  redis_url: 'redis://127.0.0.1:4',
  environments: ['demo'],
  name_prefix: 'local',
});

describe('the servers that a command works on', () => {
  const folder = useFolder({ ofEachTest: true });
  beforeEach(async () => {
    await mkdir(join(folder, '.local'));
  });

  const writeStack = (text: string) => writeFile(join(folder, '.local', 'stack.json'), text);

  it('are those of the variables, even if a stack runs', async () => {
    await writeStack(STACK);
    const env = { KAFKA_BROKERS: 'k:1', MONGODB_URI: 'mongodb://m', REDIS_URL: 'redis://r' };
    const { config, origin } = await readConnection(env, [folder]);
    expect(config).toMatchObject({
      kafka: { brokers: ['k:1'] },
      environments: ['production', 'sandbox'],
    });
    expect(origin).toBe('the environment variables');
  });

  it('are those of a running stack, with its environments and prefix', async () => {
    await writeStack(STACK);
    const { config, origin } = await readConnection({ MONGODB_URI: '' }, ['/nowhere', folder]);
    expect(config).toMatchObject({
      environments: ['demo'],
      namePrefix: 'local',
      kafka: { brokers: ['127.0.0.1:2'] },
      mongodb: { uri: 'mongodb://127.0.0.1:3' },
      redis: { url: 'redis://127.0.0.1:4' },
    });
    expect(origin).toBe(join(folder, '.local', 'stack.json'));
  });

  it('are never mixed: if one is given, the others stay missing, which only matters to commands that use them', async () => {
    await writeStack(STACK);
    const { config } = await readConnection({ MONGODB_URI: 'mongodb://production' }, [folder]);
    expect([config.kafka.brokers, config.redis.url]).toEqual([[], '']);
  });

  it.each([
    ['keys list', 'MONGODB_URI'],
    ['lag', 'KAFKA_BROKERS'],
    [`sessions revoke ${'a'.repeat(32)} --store s1 -e production -c c1`, 'KAFKA_BROKERS'],
  ])('must be named for a command that uses them: %s needs %s', async (words, missing) => {
    const databases = { MONGODB_URI: 'mongodb://m.invalid', REDIS_URL: 'redis://r.invalid' };
    const env = { KAFKA_BROKERS: 'k.invalid:1', ...databases, [missing]: '' };
    await expectRefused(
      runCommand(env, words),
      new RegExp(`this command needs ${missing}: .*npm start.*stack\\.json`),
    );
  });

  it.each(['', '{"kafka_brokers":[]}'])('are not read from a file with %j', async (content) => {
    await writeStack(content);
    await expect(readConnection({}, [folder])).rejects.toThrow(
      /not the file of a running local stack/,
    );
  });
});
