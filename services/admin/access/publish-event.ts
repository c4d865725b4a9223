/** Publishes one event of a command to the access topic, and knows where in the log it lies. */
import { describeError, StoreDataError } from '#shared/errors.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { accessTopic } from '#shared/events/topics.ts';
import type { Servers } from '../connection/servers.ts';

export interface AccessEvent {
  entity: 'access_key' | 'store_access';
  environment: string;
  storeId: string;
  subject: string;
  sequence: number;
  data: object;
}

const SOURCE = '/store-data/admin';

/** @returns the `_id` of its dead letter, if it had one; `null` where the broker did not say. */
export async function publishAccessEvent(servers: Servers, event: AccessEvent): Promise<string | null> {
  const { environment, ...rest } = event;
  const topic = accessTopic(environment);
  const producer = await servers.kafkaOf(topic).producer();
  try {
    const [metadata] = await producer.send({
      topic,
      acks: -1,
      messages: [encodeEvent({ ...rest, source: SOURCE })],
    });
    const offset = metadata?.baseOffset ?? metadata?.offset;
    return metadata === undefined || offset === undefined ? null : `${topic}/${metadata.partition}/${offset}`;
  } catch (error) {
    throw new StoreDataError(
      'environment_unavailable',
      `Kafka did not take the event on ${topic}: ${describeError(error)}`,
      { cause: error },
    );
  }
}
