/** Events of one store as messages of a slice, for tests of what is made of them. */
import type { KafkaMessage } from 'kafkajs';
import type { EntityName } from '#shared/events/entities.ts';
import { kafkaMessage } from '#test/events.ts';

const STATES: Partial<Record<EntityName, object>> = {
  store: { name: 'Loja', timezone_offset: '-04:00', created_at: '2026-01-01T12:00:00Z' },
  customer: { name: 'Ana', created_at: '2026-01-01T12:00:00Z' },
  order: {
    status: 'pending',
    order_type: 'delivery',
    total: '1.00',
    customer: { id: 'c1', name: 'Ana' },
    created_at: '2026-01-01T12:00:00Z',
  },
  product: { name: 'Suco', price: '1.00', position: 0, active: true, category_id: 'k1' },
};

export interface Told {
  entity: EntityName;
  id: string;
  sequence: number;
  deleted?: true;
  /** Beside the least that an event of the entity needs. */
  data?: object;
}

/** The messages of some events, or of texts that are none. */
export function messagesOf(events: readonly (Told | string)[]): KafkaMessage[] {
  return events.map((event, offset) => {
    if (typeof event === 'string') return kafkaMessage(event, offset);
    const { entity, id: subject, sequence, deleted, data } = event;
    const time = new Date('2026-02-02T12:00:00Z');
    const told = { entity, storeId: 's1', subject, sequence, time };
    const state = { ...STATES[entity], ...data };
    return kafkaMessage(deleted ? { ...told, action: 'deleted' } : { ...told, data: state }, offset);
  });
}
