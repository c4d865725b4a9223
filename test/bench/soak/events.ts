/** What the simulated traffic leaves out: events of every kind at random, moved offsets and deletions among them. */
import fc from 'fast-check';
import { describeError } from '#shared/errors.ts';
import { pause } from '#shared/waiting.ts';
import type { Installation } from '#test/installation.ts';
import { stream } from '#test/streams.ts';
import type { Tally } from './client.ts';

const EVERY_MS = 1_000;

/** Publishes one every second, of one store after the other, until the signal is aborted. What Kafka does not take is told and left out. */
export async function publishRest(
  { publish }: Installation,
  storeIds: readonly string[],
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  // A store whose record is deleted has no info to ask for.
  const events = fc.sample(stream, 10).flat();
  const kept = events.filter(({ entity, action }) => entity !== 'store' || action !== 'deleted');
  for (let turn = 0; await pause(EVERY_MS, over); turn += 1) {
    const [event, storeId = ''] = [kept[turn % kept.length], storeIds[turn % storeIds.length]];
    if (event === undefined) return;
    const subject = event.entity === 'store' ? storeId : event.subject;
    try {
      await publish([{ ...event, storeId, subject, sequence: Date.now() }]);
    } catch (error) {
      tally.wrong('publishing', describeError(error));
    }
  }
}
