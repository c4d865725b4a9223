/** Encodes CloudEvents in structured mode, for the command line, the simulator and tests. */
import { randomUUID } from 'node:crypto';

export interface EventToEncode {
  entity: string;
  action?: 'changed' | 'deleted';
  storeId: string;
  subject: string;
  sequence: number;
  data?: unknown;
  source: string;
  time?: Date;
  id?: string;
  /** Where the schema of the data lies; its last path segment is the version. Version 1 when absent. */
  dataschema?: string;
}

export interface EncodedMessage {
  key: string;
  value: string;
  headers: Record<string, string>;
}

/** Encodes one event. It is not checked: what is no event would be a dead letter. */
export function encodeEvent(event: EventToEncode): EncodedMessage {
  const { entity, action = 'changed', storeId, subject, sequence, data, source } = event;
  return {
    key: storeId,
    headers: { 'content-type': 'application/cloudevents+json' },
    value: JSON.stringify({
      specversion: '1.0',
      id: event.id ?? randomUUID(),
      source,
      type: `store-data.${entity}.${action}`,
      subject,
      time: (event.time ?? new Date()).toISOString(),
      datacontenttype: 'application/json',
      dataschema: event.dataschema,
      storeid: storeId,
      sequence: String(sequence),
      data,
    }),
  };
}
