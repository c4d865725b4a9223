import { readFileSync } from 'node:fs';
import Schema from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { asyncApiDocument } from '#admin/documents/asyncapi.ts';
import { readAccessChange } from '#shared/events/access-event.ts';
import { readChange } from '#shared/events/change.ts';

interface Message {
  name: string;
  payload: object;
  examples: { payload: { storeid: string; data?: object } }[];
}

const document = JSON.parse(JSON.stringify(asyncApiDocument())) as {
  channels: Record<string, { address: string; messages: Record<string, { $ref: string }> }>;
  components: { messages: Record<string, Message>; schemas: object };
};
const messages = Object.values(document.components.messages);

describe('docs/asyncapi.json', () => {
  it('says what the schemas say: npm run documents writes it anew', () => {
    expect(JSON.parse(readFileSync('docs/asyncapi.json', 'utf8'))).toEqual(document);
  });

  it.each(messages)('has examples of $name that its schema and the projector take', (message) => {
    const { components } = document;
    const validator = Schema.Compile({ ...message.payload, components });
    expect(message.examples).toHaveLength(1);
    for (const { payload } of message.examples) {
      expect(validator.Errors(payload)[1]).toEqual([]);
      const event = { key: Buffer.from(payload.storeid), value: Buffer.from(JSON.stringify(payload)) };
      const isAccess = message.name in (document.channels['access']?.messages ?? {});
      expect(isAccess ? readAccessChange(event) : readChange(event)).toMatchObject({ storeId: 's1' });
    }
  });

  it.each(messages)('has a schema of $name that refuses an event without its envelope', ({ payload }) => {
    const validator = Schema.Compile({ ...payload, components: document.components });
    expect(validator.Check({})).toBe(false);
  });
});
