/** Knows which MongoDB holds which database: the common one, or an environment's own for its generations. */
import type { Db, MongoClient } from 'mongodb';
import type { Config } from '../config.ts';

export class Databases {
  readonly control: Db;
  readonly common: MongoClient;
  readonly own: ReadonlyMap<string, MongoClient>;
  readonly #prefix: string;

  constructor(prefix: string, common: MongoClient, own: ReadonlyMap<string, MongoClient> = new Map()) {
    this.#prefix = prefix;
    this.common = common;
    this.own = own;
    this.control = controlDatabase(common, prefix);
  }

  static of(config: Config, create: (config: Pick<Config, 'mongodb'>) => MongoClient): Databases {
    const own = [...config.own].flatMap(([environment, { mongodb }]): [string, MongoClient][] =>
      mongodb === undefined ? [] : [[environment, create({ mongodb })]],
    );
    return new Databases(config.namePrefix, create(config), new Map(own));
  }

  clientOf(environment: string): MongoClient {
    return this.own.get(environment) ?? this.common;
  }

  get clients(): MongoClient[] {
    return [this.common, ...this.own.values()];
  }

  generation(environment: string, number: number): Db {
    return this.clientOf(environment).db(`${this.#prefix}_${environment}_g${number}`);
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
  }
}

export function controlDatabase(client: MongoClient, prefix: string): Db {
  return client.db(`${prefix}_control`);
}
