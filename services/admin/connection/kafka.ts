/** One Kafka of a command: each way to use it is connected when it is first needed. */
import type { Admin, Consumer, ConsumerConfig, Kafka, KafkaConfig, Producer } from '#shared/kafka/client.ts';
import { shownAddress } from '#shared/address.ts';
import type { Config } from '#shared/config.ts';
import { createKafka, createProducer } from '#shared/kafka/client.ts';
import { firstToAnswer, kafkaSecurity } from '#shared/kafka/connection.ts';
import { createLogger } from '#shared/logging.ts';
import { demandAddress } from './settings.ts';

/** Connects to a server; what is put into `closing` is done in the end. */
export type Reach = <T>(
  name: string,
  address: string,
  connect: (closing: (() => Promise<unknown>)[]) => Promise<T>,
) => Promise<T>;

export class KafkaServers {
  readonly #brokers: readonly string[];
  readonly #ssl: KafkaConfig['ssl'];
  readonly #kafka: Kafka;
  readonly #reach: Reach;
  #admin: Promise<Admin> | null = null;
  #producer: Promise<Producer> | null = null;

  constructor(config: Pick<Config, 'kafka'>, clientId: string, reach: Reach) {
    this.#brokers = config.kafka.brokers;
    this.#ssl = kafkaSecurity(config.kafka).ssl;
    this.#kafka = createKafka(config, clientId, createLogger('admin', 'silent'));
    this.#reach = reach;
  }

  /** A client that has reached its server; the same for @throws everywhere below. */
  admin(): Promise<Admin> {
    this.#admin ??= this.#connect(async (closing) => {
      const admin = this.#kafka.admin({ retry: { retries: 4 } });
      closing.push(() => admin.disconnect());
      await admin.connect();
      return admin;
    });
    return this.#admin;
  }

  producer(): Promise<Producer> {
    this.#producer ??= this.#connect(async (closing) => {
      const producer = createProducer(this.#kafka);
      closing.push(() => producer.disconnect());
      await producer.connect();
      return producer;
    });
    return this.#producer;
  }

  /** A consumer that has connected and not joined its group yet. */
  consumer(groupId: string, options: Omit<ConsumerConfig, 'groupId'>): Promise<Consumer> {
    return this.#connect(async (closing) => {
      const consumer = this.#kafka.consumer({
        groupId,
        allowAutoTopicCreation: false,
        sessionTimeout: 60_000,
        maxWaitTimeInMs: 100,
        readUncommitted: false,
        ...options,
      });
      closing.push(() => consumer.disconnect());
      await consumer.connect();
      return consumer;
    });
  }

  async #connect<T>(connect: (closing: (() => Promise<unknown>)[]) => Promise<T>): Promise<T> {
    demandAddress('KAFKA_BROKERS', this.#brokers);
    return this.#reach('Kafka', shownAddress(this.#brokers.join(',')), async (closing) => {
      // kafkajs would try for seconds, and hide why.
      await firstToAnswer(this.#brokers, this.#ssl);
      return connect(closing);
    });
  }
}
