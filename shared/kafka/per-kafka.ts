/**
 * The one place that knows which Kafka has which topic. Topics of access are on the installation's; the changes of an environment may be
 * on one of its own.
 */
import type { Config } from '../config.ts';
import { changesTopic } from '../events/topics.ts';

/** Something that there is for each Kafka, such as a client. */
export class PerKafka<T> {
  /** That of the installation's. */
  readonly common: T;
  /** By topic. */
  readonly #own: ReadonlyMap<string, T>;

  /** Makes it for each Kafka that the configuration names. */
  constructor(config: Config, make: (config: Pick<Config, 'kafka'>) => T) {
    this.common = make(config);
    this.#own = new Map(
      [...config.own].flatMap(([environment, { kafka }]): [string, T][] =>
        kafka === undefined ? [] : [[changesTopic(environment), make({ kafka })]],
      ),
    );
  }

  /** That of the Kafka that has a topic. */
  of(topic: string): T {
    return this.#own.get(topic) ?? this.common;
  }

  /** Topics by the Kafka that has them. */
  group(topics: readonly string[]): Map<T, string[]> {
    return Map.groupBy(topics, (topic) => this.of(topic));
  }
}
