import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSigningKeys } from '#query/token/signing-keys.ts';
import { readConfig } from '#shared/config.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { runCommand, runJson } from './run-command.ts';

describe('prepare', () => {
  let installation: Installation;
  let folder: string;
  beforeAll(async () => {
    installation = await createInstallation();
    folder = await mkdtemp(join(tmpdir(), 'store-data-prepare-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await installation?.close();
  });

  it('makes topics that keep everything and a key that signs, and leaves both alone the next time', async () => {
    const environment = `${installation.environment}-new`;
    const file = join(folder, 'keys', 'signing-keys.json');
    const { SIGNING_KEYS: _inline, ...servers } = installation.env;
    const env = { ...servers, ENVIRONMENTS: environment, SIGNING_KEYS_FILE: file };

    const topics = [`store-changes.${environment}`, `store-access.${environment}`];
    const made = await runJson(env, ['prepare', '--partitions', '3']);
    expect(made).toEqual({ replica_set: false, topics, signing_keys: true });

    const admin = installation.kafka.admin();
    await admin.connect();
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
    });
    for (const { configEntries } of resources) {
      const settings = new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]));
      expect([settings.get('cleanup.policy'), settings.get('retention.ms')]).toEqual(['delete', '-1']);
    }
    const partitions = await Promise.all(
      topics.map(async (topic) => (await admin.fetchTopicOffsets(topic)).length),
    );
    expect(partitions).toEqual([3, 1]);
    await admin.deleteTopics({ topics });
    await admin.disconnect();

    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await loadSigningKeys(readConfig(env).tokens)).verifying.size).toBe(1);
    const key = await readFile(file, 'utf8');
    expect((await runCommand(env, ['prepare'])).code).toBe(0);
    expect(await readFile(file, 'utf8')).toBe(key);
  });
});
