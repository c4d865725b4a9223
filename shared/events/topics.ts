/**
 * Names of the topics, and CloudEvents in structured mode for them, for the command line, the
 * simulator and tests.
 */
import { randomUUID } from 'node:crypto';

export function changesTopic(environment: string): string {
  return `store-changes.${environment}`;
}

export function accessTopic(environment: string): string {
  return `store-access.${environment}`;
}

export function topicsOf(environment: string): [changes: string, access: string] {
  return [changesTopic(environment), accessTopic(environment)];
}

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
  /** A URI whose last path segment is the schema's version; 1 when absent. */
  dataschema?: string;
}

export interface EncodedMessage {
  key: string;
  value: string;
  headers: Record<string, string>;
}

/** Encodes one event without checks: a wrong one becomes a dead letter. */
export function encodeEvent(event: EventToEncode): EncodedMessage {
  const { entity, action = 'changed', storeId, subject, sequence, data, source } = event;
  const { id = randomUUID(), time = new Date(), dataschema } = event;
  return {
    key: storeId,
    headers: { 'content-type': 'application/cloudevents+json' },
    value: JSON.stringify({
      specversion: '1.0',
      id,
      source,
      type: `store-data.${entity}.${action}`,
      subject,
      time: time.toISOString(),
      datacontenttype: 'application/json',
      dataschema,
      storeid: storeId,
      sequence: String(sequence),
      data,
    }),
  };
}
