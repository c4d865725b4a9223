import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { missingCommands, type ShardCommand } from '#admin/prepare/sharding.ts';
import { CONTROL_SHARDING, SHARDING } from '#shared/read-models/sharding.ts';

const plan = (keys: ReadonlyMap<string, Document> = new Map()) =>
  missingCommands(keys, 'sd_control', ['sd_production_g1', 'sd_production_g2']);

const shardedBy = (commands: readonly ShardCommand[]) =>
  new Map(
    commands.flatMap(({ command }): [string, Document][] =>
      'shardCollection' in command ? [[command['shardCollection'], command['key']]] : [],
    ),
  );

describe('the plan for a sharded cluster', () => {
  it('shards every collection of the control database and of each generation, and nothing twice', () => {
    const named = (database: string, sharding: object) =>
      Object.keys(sharding).map((name) => `${database}.${name}`);
    const keys = shardedBy(plan());
    expect(new Set(keys.keys())).toEqual(
      new Set([
        ...named('sd_control', CONTROL_SHARDING),
        ...named('sd_production_g1', SHARDING),
        ...named('sd_production_g2', SHARDING),
      ]),
    );
    expect(plan(keys)).toEqual([]);
  });

  it('makes an index for a key that needs one, before it shards the collection', () => {
    const commands = plan();
    const orders = commands.findIndex(
      ({ command }) => command['shardCollection'] === 'sd_production_g1.orders',
    );
    const key = { store_id: 1, _id: 1 };
    expect(commands.slice(orders - 1, orders + 1)).toEqual([
      {
        database: 'sd_production_g1',
        command: { createIndexes: 'orders', indexes: [{ name: 'by_shard_key', key }] },
      },
      { database: 'admin', command: { shardCollection: 'sd_production_g1.orders', key } },
    ]);
  });

  it('refuses a collection that is sharded by another key', () => {
    const keys = new Map([['sd_production_g1.orders', { _id: 'hashed' }]]);
    expect(() => plan(keys)).toThrow(
      'sd_production_g1.orders is sharded by {"_id":"hashed"} instead of {"store_id":1,"_id":1}: reshard it',
    );
  });
});
