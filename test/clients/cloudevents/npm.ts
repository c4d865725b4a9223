/** Messages made by the CloudEvents SDK for JavaScript. */
import { CloudEvent, Kafka } from 'cloudevents';
import { MINIMAL } from '#test/changes.ts';
import type { Sent } from './sent.ts';

const attributes = {
  id: 'e1',
  source: '/pos/s1',
  type: 'store-data.order.changed',
  subject: 'o1',
  time: '2026-11-20T21:15:04.120Z',
  storeid: 's1',
  sequence: '17',
  partitionkey: 's1',
};
const data = MINIMAL.order;

const changed = new CloudEvent({ ...attributes, datacontenttype: 'application/json', data });
const numbered = changed.cloneWith({ sequence: 17 });
const ofBytes = changed.cloneWith({ data: new TextEncoder().encode(JSON.stringify(data)) });
const deleted = new CloudEvent({ ...attributes, type: 'store-data.order.deleted' });

/** A message as kafkajs accepts it: values that are not strings become JSON. */
function sent(call: string, { headers, key, value }: ReturnType<typeof Kafka.binary>): Sent {
  const text = value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
  const texts = Object.entries(headers).flatMap(([name, header]) =>
    header === undefined ? [] : [[name, String(header)] as const],
  );
  return {
    call,
    headers: Object.fromEntries(texts),
    key: String(key),
    value: text === undefined ? null : Buffer.from(text).toString('base64'),
  };
}

export function sentByJavaScript(): Sent[] {
  const { structured, binary } = Kafka;
  return [
    sent('`Kafka.structured(event)`', structured(changed)),
    sent('`Kafka.structured(event)`, integer `sequence`', structured(numbered)),
    sent('`Kafka.structured(event)`, data of bytes', structured(ofBytes)),
    sent('`Kafka.structured(event)`, a deletion', structured(deleted)),
    sent('`Kafka.binary(event)`', binary(changed)),
    sent('`Kafka.binary(event)`, a deletion', binary(deleted)),
  ];
}
