/** npm, the image and Compose start a service in the same way. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { imageOf } from '#local/stack/container.ts';
import { serviceProgram } from '../bench/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFile(join(ROOT, path), 'utf8');
const SERVICES = ['query', 'projector'] as const;

const dockerfile = await read('deploy/Dockerfile');
const { services } = parse(await read('deploy/compose.yaml'), { merge: true }) as {
  services: Record<string, { command: string[]; environment: Record<string, string> }>;
};

/**
 * The Node arguments of an npm script, adapted to the image: its files are JavaScript, and it sets
 * some arguments for every command.
 */
function startedByNpm(name: 'query' | 'projector'): string[] {
  const { words } = serviceProgram(name);
  const [, ofImage = ''] = /^ {4}NODE_OPTIONS=(\S+)/m.exec(dockerfile) ?? [];
  expect(ofImage).not.toBe('');
  return words
    .slice(words.indexOf('node') + 1)
    .filter((word) => word !== ofImage)
    .map((word) => word.replace(/\.ts$/, '.js'));
}

it.each(SERVICES)('the Node flags of %s are the same in npm and in Compose', (name) => {
  expect(services[name]?.command).toEqual(startedByNpm(name));
});

it.each(SERVICES)('the variables of the C library of %s come from the image alone', (name) => {
  const { words } = serviceProgram(name);
  const variables = parseEnv(words.slice(0, words.indexOf('node')).join('\n'));
  expect(variables).toEqual({ MALLOC_ARENA_MAX: expect.stringMatching(/^\d+$/) });
  for (const [variable, value] of Object.entries(variables)) {
    expect(dockerfile).toMatch(new RegExp(`^(?:ENV| {3}) ${variable}=${value}(?: |$)`, 'm'));
    expect(services[name]?.environment).not.toHaveProperty(variable);
  }
});

it('the image runs the query service without arguments, on the base image in the list of images', () => {
  const [, command = ''] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(command)).toEqual(startedByNpm('query'));
  expect(dockerfile).toContain(`\nARG NODE_IMAGE=${imageOf('NODE_IMAGE', {})}\n`);
});

describe('an image of a server', () => {
  it('is the one that the environment names, otherwise one of a fixed version', () => {
    expect(imageOf('REDIS_IMAGE', { REDIS_IMAGE: 'mirror/redis:7' })).toBe('mirror/redis:7');
    expect(imageOf('REDIS_IMAGE', { REDIS_IMAGE: '' })).toMatch(/^redis:\d/);
  });

  it('is pinned by its digest', async () => {
    const images = Object.entries(parseEnv(await read('deploy/.env')));
    expect(images.length).toBeGreaterThan(6);
    for (const [name, image] of images)
      expect([name, image]).toEqual([name, expect.stringMatching(/:[^:@]+@sha256:[0-9a-f]{64}$/)]);
  });
});

it('Prometheus of the Compose file reads the alerts, and uses their job names', async () => {
  const scrape_configs = ['projector', 'query'].map((name) => ({
    job_name: `store-data-${name}`,
    dns_sd_configs: [{ names: [name] }],
  }));
  const prometheus: unknown = parse(await read('deploy/prometheus/prometheus.yaml'));
  expect(prometheus).toMatchObject({ rule_files: ['alerts.yaml'], scrape_configs });
  expect(await read('deploy/prometheus/alerts.yaml')).toContain('up{job=~"store-data.*"}');
});
