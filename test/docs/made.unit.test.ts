/** The generated parts of docs/ match the code. */
import { readFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import type { Registry } from 'prom-client';
import Schema from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import {
  asyncApiDocument,
  cliMarkdown,
  eventsMarkdown,
  filtersMarkdown,
  recordsMarkdown,
  replaceSection,
  settingsMarkdown,
} from '#admin/documents/documents.ts';
import { createMetrics as projectorMetrics } from '#projector/metrics.ts';
import { createMetrics as queryMetrics } from '#query/metrics.ts';
import { ACCESS_SCHEMAS, readAccessChange } from '#shared/events/access-event.ts';
import { readChange } from '#shared/events/change.ts';
import type { EventMessage } from '#shared/events/cloud-event.ts';
import { describeFields, exampleEvent } from '#shared/events/describe-fields.ts';
import { ENTITY_NAMES, entitySchemas } from '#shared/events/entities.ts';

interface Example {
  headers: Record<string, string>;
  payload: { storeid?: string } | null;
}

interface Message {
  name: string;
  headers: object;
  payload: object;
  examples: [Example];
}

const document = JSON.parse(JSON.stringify(asyncApiDocument())) as {
  channels: Record<string, { address: string; messages: Record<string, { $ref: string }> }>;
  components: { messages: Record<string, Message>; schemas: object };
};
const messages = Object.values(document.components.messages);
const isBinary = ({ name }: Message) => name.endsWith('.binary');

/** The example as a Kafka message. */
function kafkaMessage({ headers, payload }: Example): EventMessage {
  const storeId = headers['ce_storeid'] ?? payload?.storeid ?? '';
  const value = payload === null ? null : Buffer.from(JSON.stringify(payload));
  return { key: Buffer.from(storeId), value, headers };
}

describe('docs/asyncapi.json', () => {
  it('matches the schemas: npm run documents updates it', () => {
    expect(JSON.parse(readFileSync('docs/asyncapi.json', 'utf8'))).toEqual(document);
  });

  it('describes every message in both content modes', () => {
    const names = messages.map(({ name }) => name);
    const structured = messages.filter((message) => !isBinary(message)).map(({ name }) => name);
    expect(names).toEqual(structured.flatMap((name) => [name, `${name}.binary`]));
  });

  it.each(messages)(
    'has examples of $name that its schemas and the projector accept, and refuses it without attributes',
    (message) => {
      const { components } = document;
      const schemaOf = (part: 'headers' | 'payload') =>
        Schema.Compile({ ...message[part], components });
      const [example] = message.examples;
      for (const part of ['headers', 'payload'] as const)
        expect(schemaOf(part).Errors(example[part])[1]).toEqual([]);
      expect(schemaOf(isBinary(message) ? 'headers' : 'payload').Check({})).toBe(false);
      const event = kafkaMessage(example);
      const isAccess = message.name in (document.channels['access']?.messages ?? {});
      const change = isAccess ? readAccessChange(event) : readChange(event);
      expect(change).toMatchObject({ storeId: 's1' });
    },
  );
});

describe('docs/configuration.md, docs/rules.md, docs/cli.md and docs/events.md', () => {
  it('match settings, docs/openapi.json, commands and schemas: npm run documents updates them', async () => {
    const openApi = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as Parameters<
      typeof recordsMarkdown
    >[0];
    await expectUpToDate('docs/configuration.md', 'settings', settingsMarkdown());
    await expectUpToDate('docs/rules.md', 'filters', filtersMarkdown(openApi));
    await expectUpToDate('docs/rules.md', 'records', recordsMarkdown(openApi));
    await expectUpToDate('docs/cli.md', 'commands', cliMarkdown());
    await expectUpToDate('docs/events.md', 'fields', eventsMarkdown());
  });
});

const message = (event: object) => ({
  key: Buffer.from('s1'),
  value: Buffer.from(JSON.stringify(event)),
});

describe('docs/events.md', () => {
  it('requires exactly the fields of rule R12.3', () => {
    const required = ENTITY_NAMES.map((entity) => [
      entity,
      describeFields(entitySchemas[entity])
        .filter(({ isRequired }) => isRequired)
        .map(({ name }) => name),
    ]);
    expect(Object.fromEntries(required)).toEqual({
      store: ['name', 'timezone_offset', 'created_at'],
      coupon: ['code', 'discount_type', 'discount_value', 'active', 'created_at'],
      customer: ['name', 'created_at'],
      review: ['rating', 'created_at'],
      campaign: ['name', 'channel', 'status', 'created_at'],
      order: [
        'status',
        'order_type',
        'customer.id',
        'total',
        'items[].product_id',
        'items[].name',
        'items[].quantity',
        'items[].unit_price',
        'items[].total',
        'created_at',
      ],
      category: ['name', 'position', 'active'],
      product: ['name', 'price', 'active', 'position'],
      option_group: [
        'name',
        'min',
        'max',
        'options',
        'options[].id',
        'options[].name',
        'options[].price',
      ],
    });
  });

  it.each(['access_key', 'store_access'] as const)(
    'has a valid example of %s with every field',
    (kind) => {
      const event = exampleEvent(kind);
      expect(readAccessChange(message(event))).toMatchObject({ kind, storeId: 's1' });
      expect(describeFields(ACCESS_SCHEMAS[kind]).map(({ name }) => name)).toEqual(
        Object.keys(event.data),
      );
    },
  );
});

/** A line for each metric of the product. Node's metrics are documented elsewhere. */
async function linesOf(registry: Registry): Promise<string[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics
    .filter(({ name }) => name.startsWith('store_data_'))
    .map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`);
}

const squeezed = (line: string) => line.replaceAll(/ +/g, ' ').trim();

it('docs/metrics.md has exactly the metrics of both services', async () => {
  const told = readFileSync('docs/metrics.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `store_data_'))
    .map(squeezed);
  const made = new Set([
    ...(await linesOf(queryMetrics().registry)),
    ...(await linesOf(projectorMetrics().registry)),
  ]);
  expect(told.toSorted()).toEqual([...made].toSorted());
});

/** Asserts that `npm run documents` would not change that part of the document. */
async function expectUpToDate(path: string, name: string, markdown: string): Promise<void> {
  const committed = readFileSync(path, 'utf8');
  const options = { ...(await resolveConfig(path)), filepath: path };
  expect(committed).toBe(await format(replaceSection(committed, name, markdown), options));
}
