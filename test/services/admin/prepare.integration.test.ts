import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { readConfig } from '#shared/config.ts';
import { useFolder } from '#test/folder.ts';
import { generationDb } from '#test/generations.ts';
import { useInstallation } from '#test/hooks.ts';
import { withAdmin } from '#test/topics.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

describe('prepare', () => {
  const installation = useInstallation();
  const folder = useFolder();

  /** The settings of an environment without topics, and of a file that does not exist. */
  const settingsOf = (environment: string, file: string) => {
    const { SIGNING_KEYS: _inline, ...servers } = installation.env;
    return { ...servers, ENVIRONMENTS: environment, SIGNING_KEYS_FILE: file };
  };

  it('makes topics with unlimited retention and a signing key, and changes neither the next time', async () => {
    const environment = `${installation.environment}-new`;
    const file = join(folder, 'keys', 'signing-keys.json');
    const env = settingsOf(environment, file);
    const topics = [`store-changes.${environment}`, `store-access.${environment}`];
    const made = await runJson(env, 'prepare --partitions 3');
    expect(made).toEqual({ replica_set: false, topics, signing_keys: true });

    await withAdmin(installation.kafka, async (admin) => {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
      });
      for (const { configEntries } of resources) {
        const settings = configEntries.map((one) => `${one.configName}=${one.configValue}`);
        expect(settings).toEqual(
          expect.arrayContaining(['cleanup.policy=delete', 'retention.ms=-1']),
        );
      }
      const offsets = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)));
      expect(offsets.map(({ length }) => length)).toEqual([3, 1]);
      const asked = await runCommand(env, 'prepare --partitions 12');
      expect(asked.stderr).toContain(`store-changes.${environment} has 3 partitions, not 12`);
      await admin.deleteTopics({ topics });
    });

    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await loadSigningKeys(readConfig(env).tokens)).verifying.size).toBe(1);
    const key = await readFile(file, 'utf8');
    expect((await runCommand(env, 'prepare')).code).toBe(0);
    expect(await readFile(file, 'utf8')).toBe(key);
  });

  describe('sharding of a MongoDB that is not sharded', () => {
    it('is refused before any change', async () => {
      const environment = `${installation.environment}-unsharded`;
      const file = join(folder, 'none', 'signing-keys.json');
      await expectRefused(
        runCommand(settingsOf(environment, file), 'prepare --shard'),
        /^store-data: MONGODB_URI is not a router of a sharded cluster \(mongos\): nothing was changed/,
      );
      const topics = await withAdmin(installation.kafka, (admin) => admin.listTopics());
      expect(topics.filter((name) => name.endsWith(environment))).toEqual([]);
      await expect(stat(file)).rejects.toThrow('ENOENT');
    });

    it('shows the commands for present generations and the next rebuild, and changes nothing', async () => {
      const { mongodb, databases, environment } = installation;
      await databases.control
        .collection<{ _id: string; live: number; last: number }>('generations')
        .insertOne({ _id: environment, live: 4, last: 5 });
      const { stdout, code } = await runCommand(installation.env, 'prepare --shard --dry-run');
      expect(code).toBe(0);
      const [live, next] = [4, 6].map((number) => generationDb(installation, number).databaseName);
      for (const name of [live, next]) {
        const command = `admin {"shardCollection":"${name}.stamps","key":{"_id":1}}\n`;
        expect(stdout).toContain(command);
      }
      const present = await mongodb.db().admin().listDatabases({ nameOnly: true });
      expect(present.databases.map(({ name }) => name)).not.toContain(next);
    });
  });
});
