/** What must hold of every answer to an attack, besides its status. */
import assert from 'node:assert/strict';
import type { Answer } from '#test/api-client.ts';

/** Traces of the inside: stack frames, files, classes of errors, servers behind the service. */
const INSIDE =
  /\bat \S+ \(|\.[jt]s:\d|node_modules|node:internal|\w+Error\b|\bmongo|\bredis|\bkafka|\bfastify|\bECONN/i;

/** Fails on a 5xx, on words about the inside, and where an answer repeats what must not be repeated. */
export function expectHarmless(answer: Answer, about: string, unsaid: readonly string[] = []): void {
  const { status, headers, text } = answer;
  const all = [...headers].map(([name, value]) => `${name}: ${value}`).join('\n') + `\n\n${text}`;
  assert.ok(status < 500, `${about}: ${status} ${text}`);
  assert.doesNotMatch(all, INSIDE, about);
  for (const word of unsaid) {
    if (word !== '') assert.ok(!all.includes(word), `${about} repeats ${JSON.stringify(word)}: ${all}`);
  }
}
