/**
 * Publishers: late, ahead of this release, or wrong; and dead letters that nobody decides about.
 */
import { expect } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { lettersIn } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { readModels } from '#test/read-models.ts';
import type { Drill } from '../drill.ts';
import { DEAD_LETTER_BYTES, repeat, STORE, type Watched } from '../watched.ts';

const DAY_MS = 86_400_000;
const LATE_MS = 60_000;

const poison = ({ installation }: Watched, bytes: number) =>
  installation.send(changesTopic(installation.environment), [
    { key: STORE, value: 'x'.repeat(bytes) },
  ]);

/** A dead letter that has been waiting for so many days. */
async function oldLetter(watched: Watched, days: number): Promise<void> {
  await poison(watched, 10);
  const letters = lettersIn(await readModels(watched.installation));
  await eventually('there is a letter', async () => (await letters.countDocuments()) > 0);
  await letters.updateMany({}, { $set: { dead_at: new Date(Date.now() - days * DAY_MS) } });
}

const drop = ({ run }: Watched) => run('dead-letters', 'drop', '--all', '--yes');

export const EVENTS: readonly Drill[] = [
  {
    name: 'a publisher sends its events a minute late, and then in time',
    alerts: ['StoreDataFreshnessBurnsFast', 'StoreDataFreshnessBurnsSlowly'],
    async cause({ orders }) {
      const over = new AbortController();
      const late = repeat(() => orders(1, new Date(Date.now() - LATE_MS)), 250, over.signal);
      return async () => {
        over.abort();
        await late;
      };
    },
  },
  {
    name: 'a publisher uses a newer schema, and for an hour no longer',
    alerts: ['StoreDataNewerSchema'],
    async cause({ installation }) {
      const dataschema = 'https://example.com/schemas/order/v9';
      await installation.publish([orderEvent('newer', { storeId: STORE, dataschema })]);
      // The release that knows the schema does not exist yet.
      return async () => undefined;
    },
  },
  {
    name: 'a flood of poison fills the room of dead letters; its publisher is corrected, and they are dropped',
    alerts: ['StoreDataDeadLetters', 'StoreDataDeadLettersFull'],
    async cause(watched) {
      const over = new AbortController();
      const flood = repeat(() => poison(watched, DEAD_LETTER_BYTES / 5), 500, over.signal);
      return async () => {
        over.abort();
        await flood;
        expect(await watched.run('dead-letters', 'list')).toContain(
          changesTopic(watched.installation.environment),
        );
        await drop(watched);
      };
    },
  },
  {
    name: 'a dead letter waits for more than a week, and is dropped',
    alerts: ['StoreDataDeadLettersForgotten'],
    async cause(watched) {
      await oldLetter(watched, 8);
      return () => drop(watched);
    },
  },
  {
    name: 'a dead letter expires; the log has its offset, and after an hour the alert ends',
    alerts: ['StoreDataDeadLettersExpired'],
    async cause(watched) {
      await oldLetter(watched, 100);
      return () =>
        watched.projector.logged(({ msg }) => msg === 'dead letters expired without a decision');
    },
  },
];
