import { expect, it } from 'vitest';
import { slotOf, tagOf } from '#shared/redis-cluster/slot.ts';

// As CLUSTER KEYSLOT of redis-server answers.
it.each([
  ['123456789', 12_739],
  ['', 0],
  ['foo', 12_182],
  ['{foo}bar', 12_182],
  ['a{foo}{bar}', 12_182],
  ['foo{}{bar}', 8_363],
  ['foo{{bar}}zap', 4_015],
  ['{', 4_092],
  ['store_data:{loja-é:production}:grant:a', 13_080],
])('the slot of %s is %i', (key, slot) => {
  expect(slotOf(key)).toBe(slot);
});

it.each([0, 5_461, 16_383])('a tag leads to slot %i', (slot) => {
  expect(slotOf(`prefix:{${tagOf(slot)}}:name`)).toBe(slot);
});
