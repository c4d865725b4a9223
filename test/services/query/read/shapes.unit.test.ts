import { describe, expect, it } from 'vitest';
import { SHAPES } from '#query/read/shapes.ts';
import { projectDocument } from '#shared/projection/projections/projections.ts';
import { readChange } from '#shared/events/change.ts';
import { orderEvent, received } from '#test/events.ts';

/** Texts that hold what the bodies are cut at. */
const TRAPS = [',"customer":', '"},"item_count":9', ',"items":[', '\\",\\"items\\":', '",', ','];

function detailsOf(data: Record<string, unknown>): { json: unknown; summary: Record<string, unknown> } {
  const change = readChange(received(orderEvent('o1', { data })));
  const document = projectDocument(change, { offset: '-03:00', customerErased: false });
  const body = SHAPES.order.bodyOf(document);
  return {
    json: JSON.parse(body ?? ''),
    summary: JSON.parse(document.summary) as Record<string, unknown>,
  };
}

describe('an order’s details', () => {
  it('are put together right whatever their texts say, with and without a customer', () => {
    for (const text of TRAPS) {
      const fields = { display_id: text, sales_channel: text, notes: text };
      const { json, summary } = detailsOf(fields);
      expect(json).toMatchObject({ ...summary, ...fields, customer: null, items: [] });
      const customer = { id: 'c1', name: text, phone: text, document: text };
      expect(detailsOf({ ...fields, customer }).json).toMatchObject({ ...fields, customer, item_count: 0 });
    }
  });
});
