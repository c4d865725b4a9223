import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeSettings, readConfig } from '#shared/config.ts';

interface ValueSchema {
  description?: string;
  properties?: Record<string, ValueSchema>;
}

const chart = (name: string) => readFile(`deploy/helm/store-data/${name}`, 'utf8');
const schema = JSON.parse(await chart('values.schema.json')) as ValueSchema & {
  definitions: Record<string, ValueSchema>;
};
const defaults = parse(await chart('values.yaml')) as Record<string, unknown>;
const namesOf = (definition: string) =>
  Object.keys(schema.definitions[definition]?.properties ?? {});

describe('settings and secrets of the chart', () => {
  const settings = describeSettings().map(({ name }) => name);
  /** The chart fixes the ports, and the image listens on all addresses. */
  const ofTheChart = new Set(['OPERATIONS_HOST', 'OPERATIONS_PORT', 'QUERY_HOST', 'QUERY_PORT']);
  const isSecret = (name: string) => /_FILE$|_PASSWORD$|^SIGNING_KEYS$|_HEADERS$/.test(name);
  const mayBeSecret = (name: string) => isSecret(name) || /_URI$|^REDIS_URL$|_USERNAME$/.test(name);
  const isOfQuery = (name: string) => /^SIGNING_KEYS|^QUERY_TLS/.test(name);

  it('are those of the services; secret ones come only from Secrets', () => {
    expect(namesOf('settings'), 'deploy/helm/store-data/values.schema.json').toEqual(
      settings.filter((name) => !ofTheChart.has(name) && !isSecret(name)),
    );
    expect(namesOf('querySecrets')).toEqual(settings.filter(mayBeSecret));
    expect(namesOf('secrets')).toEqual(
      settings.filter((name) => mayBeSecret(name) && !isOfQuery(name)),
    );
  });

  it('have the kinds that the services accept', () => {
    const servers = { KAFKA_BROKERS: 'k:1', MONGODB_URI: 'mongodb://m/', REDIS_URL: 'redis://r' };
    const kindOf = (name: string) => {
      try {
        readConfig({ ...servers, [name]: '!' });
        return 'value';
      } catch (error) {
        const mistake = String(error);
        if (mistake.includes(`${name} must be a whole number`)) return 'wholeNumber';
        return mistake.endsWith(`${name} must be true or false`) ? 'flag' : 'value';
      }
    };
    const kinds = namesOf('settings').map((name) => [
      name,
      { $ref: `#/definitions/${kindOf(name)}` },
    ]);
    expect(schema.definitions['settings']?.properties).toEqual(Object.fromEntries(kinds));
  });
});

it('texts of the chart and of commands name sections of documents that exist', async () => {
  const files = globSync([
    'deploy/**/*.{txt,yaml,tpl,cfg,ts}',
    'services/**/*.ts',
    'shared/**/*.ts',
  ]);
  let found = 0;
  for (const file of files) {
    // A text may be in several pieces.
    const text = (await readFile(file, 'utf8')).replaceAll(/' \+\s*'/g, '');
    for (const [, document = '', section = ''] of text.matchAll(
      /\(docs\/([\w-]+\.md), "?([A-Z][\w ]+)"?\)/g,
    )) {
      found += 1;
      const titles = (await readFile(`docs/${document}`, 'utf8')).match(/(?<=^#+ ).*$/gm);
      expect(titles, file).toContain(section);
    }
  }
  expect(found).toBeGreaterThan(2);
});

it('the chart has a README with every value, its default and its description', async () => {
  const rows = (await chart('README.md')).matchAll(/^\| `([\w.]+)` +\| +(.*?) +\| (.*?) +\|$/gm);
  const wanted = described(schema, defaults).filter(([name]) => name !== 'global');
  expect([...rows].map(([, ...cells]) => cells)).toEqual(wanted);
});

/**
 * Every value with a description: its name, its default as the table shows it, and the description.
 */
function described(
  { properties = {} }: ValueSchema,
  values: Record<string, unknown>,
  path = '',
): string[][] {
  return Object.entries(properties).flatMap(([name, inner]) => {
    const value = values[name];
    const full = `${path}${name}`;
    if (inner.description !== undefined) {
      return [[full, value === '' ? '' : `\`${JSON.stringify(value)}\``, inner.description]];
    }
    return described(inner, value as Record<string, unknown>, `${full}.`);
  });
}
