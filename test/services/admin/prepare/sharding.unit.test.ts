import { type Document, MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import {
  commandText,
  planSharding,
  readCluster,
  sendAll,
  type ShardCommand,
  type ShardedCluster,
  type ShardedEnvironment,
} from '#admin/prepare/sharding.ts';
import { CONTROL_SHARDING, SHARDING } from '#shared/read-models/sharding.ts';
import { startStandInRouter } from '#test/stand-in-router.ts';

const EMPTY: ShardedCluster = { shards: [], keys: new Map(), zones: [] };

const environment = (over: Partial<ShardedEnvironment> = {}): ShardedEnvironment => ({
  name: 'sd.production',
  databases: ['sd_production_g1'],
  topic: 'store-changes.production',
  partitions: 3,
  stores: new Map([
    ['s1', 0],
    ['s2', 2],
  ]),
  ...over,
});

const named = (commands: readonly ShardCommand[], name: string) =>
  commands.map(({ command }) => command).filter((command) => name in command);

/** The state of a cluster after commands. */
function after(commands: readonly ShardCommand[]): ShardedCluster {
  const zonesOf = new Map<string, string[]>();
  for (const { addShardToZone: shard, zone } of named(commands, 'addShardToZone')) {
    zonesOf.set(shard, [...(zonesOf.get(shard) ?? []), zone]);
  }
  return {
    shards: [...zonesOf].map(([name, zones]) => ({ name, zones })),
    keys: new Map(
      named(commands, 'shardCollection').map(({ shardCollection, key }): [string, Document] => [shardCollection, key]),
    ),
    zones: named(commands, 'updateZoneKeyRange').map(({ updateZoneKeyRange: namespace, min, max, zone }) => ({
      namespace,
      min,
      max,
      zone,
    })),
  };
}

describe('the plan for a sharded cluster', () => {
  it('puts a store’s documents into its partition’s zone, together with the partition’s checkpoint and letters', () => {
    const commands = planSharding(EMPTY, ['a'], 'sd_control', [environment()]);
    const ranges = named(commands, 'updateZoneKeyRange');
    const lines = ranges.map((command) => commandText({ database: 'admin', command }));
    const stores = ranges.filter(({ zone }) => zone === 'sd.production.1');
    expect(new Set(stores.map(({ updateZoneKeyRange }) => updateZoneKeyRange))).toEqual(
      new Set(['sd_production_g1.checkpoints', 'sd_production_g1.dead_letters']),
    );
    expect(lines).toContain(
      'admin {"updateZoneKeyRange":"sd_production_g1.orders","min":{"store_id":"s2","_id":{"$minKey":1}},"max":{"store_id":"s2","_id":{"$maxKey":1}},"zone":"sd.production.2"}',
    );
    expect(lines).toContain(
      'admin {"updateZoneKeyRange":"sd_production_g1.checkpoints","min":{"_id":"store-changes.production/2"},"max":{"_id":"store-changes.production/2/"},"zone":"sd.production.2"}',
    );
  });

  it('shards every collection after its zones, with an index if the key needs one', () => {
    const commands = planSharding(EMPTY, ['a'], 'sd_control', [
      environment({ databases: ['sd_production_g1', 'sd_production_g2'] }),
    ]);
    const sharded = named(commands, 'shardCollection').map(({ shardCollection }) => shardCollection);
    const wanted = [
      ...Object.keys(CONTROL_SHARDING).map((name) => `sd_control.${name}`),
      ...['sd_production_g1', 'sd_production_g2'].flatMap((database) =>
        Object.keys(SHARDING).map((name) => `${database}.${name}`),
      ),
    ];
    expect(sharded).toHaveLength(wanted.length);
    expect(new Set(sharded)).toEqual(new Set(wanted));
    const names = commands.map(({ command }) => Object.keys(command)[0]);
    expect(names.lastIndexOf('updateZoneKeyRange')).toBeLessThan(names.indexOf('shardCollection'));
    const orders = commands.findIndex(({ command }) => command['shardCollection'] === 'sd_production_g1.orders');
    expect(commands.slice(orders - 1, orders + 1)).toEqual([
      {
        database: 'sd_production_g1',
        command: {
          createIndexes: 'orders',
          indexes: [{ name: 'by_shard_key', key: { store_id: 1, _id: 1 } }],
        },
      },
      {
        database: 'admin',
        command: { shardCollection: 'sd_production_g1.orders', key: { store_id: 1, _id: 1 } },
      },
    ]);
  });

  it('keeps a zone on the shard to which an operator moved it', () => {
    const cluster = after(planSharding(EMPTY, ['a', 'b'], 'sd_control', [environment()]));
    const moved = {
      ...cluster,
      shards: [{ name: 'c', zones: cluster.shards.flatMap(({ zones }) => zones) }],
    };
    expect(planSharding(moved, ['a', 'b', 'c'], 'sd_control', [environment()])).toEqual([]);
  });

  it('removes a range from a zone before it adds it to another', () => {
    const cluster = after(planSharding(EMPTY, ['a'], 'sd_control', [environment()]));
    const stores = new Map([
      ['s1', 1],
      ['s2', 2],
    ]);
    const commands = planSharding(cluster, ['a'], 'sd_control', [environment({ stores })]);
    expect(commands.slice(0, 2).map(({ command }) => command['zone'])).toEqual([null, 'sd.production.1']);
    expect(commands.every(({ command }, at) => (command['zone'] === null) === (at % 2 === 0))).toBe(true);
  });

  it('refuses a collection that is sharded by another key', () => {
    const keys = new Map([['sd_production_g1.orders', { _id: 'hashed' }]]);
    expect(() => planSharding({ ...EMPTY, keys }, ['a'], 'sd_control', [environment()])).toThrow(
      'sd_production_g1.orders is sharded by {"_id":"hashed"} instead of {"store_id":1,"_id":1}: reshard it',
    );
  });

  it('is sent to the router in order, and only once', async () => {
    const router = await startStandInRouter(['a', 'b']);
    const client = new MongoClient(router.uri);
    try {
      const plan = async () => {
        const cluster = await readCluster(client);
        const shards = cluster?.shards.map(({ name }) => name) ?? [];
        return planSharding(cluster ?? EMPTY, shards, 'sd_control', [environment()]);
      };
      const commands = await plan();
      expect(named(commands, 'addShardToZone').map(({ addShardToZone }) => addShardToZone)).toEqual(['a', 'b', 'a']);
      await sendAll(client, commands);
      expect(router.told.map(commandText)).toEqual(commands.map(commandText));
      expect(await plan()).toEqual([]);
    } finally {
      await client.close();
      await router.close();
    }
  });
});
