import { expect, it } from 'vitest';
import slotOf from 'cluster-key-slot';
import { readClusterNodes, tagOf } from '#shared/redis-cluster.ts';

const [A, B, C, D, E] = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(40));

it('CLUSTER NODES gives the slots of a master without moving ones, and the other nodes', () => {
  const told = readClusterNodes(
    [
      `${B} 10.0.0.2:6379@16379,redis-1.redis master - 0 1426238316232 2 connected 5461-10922`,
      `${A} 10.0.0.1:6379@16379 myself,master - 0 0 7 connected 0-5459 5460 [93->-${B}] [94-<-${B}]`,
      `${C} [2001:db8::1]:6379@16379,,shard-id=x slave ${A} 0 1 7 connected`
        .replace('[', '')
        .replace(']', ''),
      `${D} :0@0 master,fail,noaddr - 1 1 3 disconnected 10923-16383`,
      `${E} 10.0.0.9:6379@16379 handshake - 0 0 0 connected`,
      '',
    ].join('\n'),
  );
  expect(told).toEqual({
    id: A,
    claim: {
      epoch: 7,
      ranges: [
        [0, 5459],
        [5460, 5460],
      ],
    },
    nodes: new Map([
      [B, { host: 'redis-1.redis', port: 6379 }],
      [A, { host: '10.0.0.1', port: 6379 }],
      [C, { host: '2001:db8::1', port: 6379 }],
    ]),
  });
});

it('CLUSTER NODES gives no slots of a replica', () => {
  const told = readClusterNodes(
    [
      `${A} :7000@17000 myself,slave ${B} 0 0 2 connected`,
      `${B} 127.0.0.1:7001@17001 master - 0 1 2 connected 0-16383`,
    ].join('\n'),
  );
  expect(told).toMatchObject({ id: A, claim: null });
  expect([...told.nodes.keys()]).toEqual([B]);
});

it('CLUSTER NODES may show a master without slots', () => {
  const told = readClusterNodes(`${A} 127.0.0.1:7000@17000 myself,master - 0 0 0 connected\n`);
  expect(told.claim).toEqual({ epoch: 0, ranges: [] });
});

it('any other answer to CLUSTER NODES is refused', () => {
  expect(() => readClusterNodes('OK')).toThrow('not a node of a Redis cluster');
});

// The answers of CLUSTER KEYSLOT.
it.each([0, 5_461, 16_383])('there is a tag for slot %i', (slot) => {
  expect(slotOf(`prefix:{${tagOf(slot)}}:name`)).toBe(slot);
});
