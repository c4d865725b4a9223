/** npm, the image and Compose start a service in the same way. */
import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { imageOf } from '#local/stack/container.ts';
import { serviceProgram } from '../bench/service.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, ROOT), 'utf8');

const dockerfile = await read('deploy/Dockerfile');
const { services } = parse(await read('deploy/compose.yaml'), { merge: true }) as {
  services: Record<
    string,
    { image: string; command: string[]; environment: Record<string, string> }
  >;
};

/**
 * The Node arguments of an npm script, adapted to the image: its files are JavaScript, and it sets
 * some arguments for every command.
 */
async function startedByNpm(name: 'query' | 'projector'): Promise<string[]> {
  const { flags = [], file } = await serviceProgram(name);
  const [, ofImage = ''] = /^ {4}NODE_OPTIONS=(\S+)/m.exec(dockerfile) ?? [];
  expect(ofImage).not.toBe('');
  return [
    ...flags.filter((flag) => flag !== ofImage),
    relative(fileURLToPath(ROOT), file).replace(/\.ts$/, '.js'),
  ];
}

describe('the Node flags', () => {
  it.each(['query', 'projector'] as const)(
    'of %s are the same in npm and in Compose',
    async (name) => {
      expect(services[name]?.command).toEqual(await startedByNpm(name));
    },
  );

  it('of an image without arguments are those of the query service', async () => {
    const [, command = ''] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
    expect(JSON.parse(command)).toEqual(await startedByNpm('query'));
  });
});

describe('the variables of the C library', () => {
  it.each(['query', 'projector'] as const)('of %s come from the image alone', async (name) => {
    const { variables = {} } = await serviceProgram(name);
    expect(variables).toEqual({ MALLOC_ARENA_MAX: expect.stringMatching(/^\d+$/) });
    for (const [variable, value] of Object.entries(variables)) {
      expect(dockerfile).toMatch(new RegExp(`^(?:ENV| {3}) ${variable}=${value}(?: |$)`, 'm'));
      expect(services[name]?.environment).not.toHaveProperty(variable);
    }
  });
});

describe('the image', () => {
  const [, base] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? [];

  it('is built on the base image in the list of images', () => {
    expect(base).toBe(imageOf('NODE_IMAGE', {}));
  });
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

describe('Prometheus of the Compose file', () => {
  it('reads the alerts, and uses their job names', async () => {
    const { rule_files: files, scrape_configs: jobs } = parse(
      await read('deploy/prometheus/prometheus.yaml'),
    ) as {
      rule_files: string[];
      scrape_configs: { job_name: string; dns_sd_configs: { names: string[] }[] }[];
    };
    expect(files).toEqual(['alerts.yaml']);
    for (const {
      job_name: name,
      dns_sd_configs: [found],
    } of jobs) {
      expect([name]).toEqual((found?.names ?? []).map((service) => `store-data-${service}`));
    }
    expect(await read('deploy/prometheus/alerts.yaml')).toContain('up{job=~"store-data.*"}');
  });
});
