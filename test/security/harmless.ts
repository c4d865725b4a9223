/** Asserts general properties of every answer to an attack. */
import assert from 'node:assert/strict';
import type { Answer } from '#test/api-client.ts';

/** Internal details: stack frames, files, error classes, servers behind the service. */
const INSIDE =
  /\bat \S+ \(|\.[jt]s:\d|node_modules|node:internal|\w+Error\b|\bmongo|\bredis|\bkafka|\bfastify|\bECONN/i;

/** Fails on a 5xx, on internal details, and on an answer that repeats forbidden texts. */
export function expectHarmless(
  answer: Answer,
  about: string,
  unsaid: readonly string[] = [],
): void {
  const { status, headers, text } = answer;
  const all = [...headers].map(([name, value]) => `${name}: ${value}`).join('\n') + `\n\n${text}`;
  assert.ok(status < 500, `${about}: ${status} ${text}`);
  assert.doesNotMatch(all, INSIDE, about);
  for (const word of unsaid)
    assert.ok(!all.includes(word), `${about} repeats ${JSON.stringify(word)}: ${all}`);
}
