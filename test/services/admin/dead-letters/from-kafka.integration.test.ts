/** Letters that only store the position of their message: commands read the message from Kafka. */
import type { Collection } from 'mongodb';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NOTHING_KEPT } from '#shared/projection/dead-letters/letter.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, type DeadLetter, lettersIn } from '#shared/read-models/collections.ts';
import { orderMessage } from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';
import { applyAll } from '#test/projectors.ts';
import { readLog } from '#test/read-log.ts';
import { idsIn, readModels } from '#test/read-models.ts';
import { times } from '#test/times.ts';
import { runCommand } from '../run-command.ts';

const MARIA = 'Maria Antonieta';

describe('dead letters whose messages are in Kafka alone', () => {
  const installation = useInstallation({ partitions: 1 });
  let letters: Collection<DeadLetter>;
  let topic = '';
  /** The timestamps of the messages in partition 0. */
  let published: Date[] = [];
  beforeAll(async () => {
    topic = changesTopic(installation.environment);
    await applyAll(installation);
    letters = lettersIn(await readModels(installation));
    // No projector runs: an older one skipped these messages.
    await installation.send(
      topic,
      times(40, (index) => {
        if (index % 10 === 9) return { key: 's1', value: `no event ${index}` };
        return orderMessage(`o${index}`, { data: { notes: `${MARIA} ${index}` } });
      }),
    );
    const messages = await readLog(installation, topic);
    published = messages.map(({ timestamp }) => new Date(Number(timestamp)));
  });
  beforeEach(async () => {
    await letters.deleteMany({});
  });

  const run = (words: string) => runCommand(installation.env, `dead-letters ${words}`);
  const retry = async (words: string) => {
    const { code, stdout } = await run(`retry ${words} --json`);
    return { code, ...(JSON.parse(stdout) as object) };
  };
  const orders = async () => idsIn(await readModels(installation), COLLECTIONS.order);
  const letter = (offset: number, over: Partial<DeadLetter> = {}): DeadLetter => ({
    _id: `${topic}/0/${offset}`,
    topic,
    partition: 0,
    offset,
    reason: 'unknown_type',
    detail: 'not known then',
    digest: '',
    value_bytes: 300,
    published_at: published[offset] ?? new Date(0),
    dead_at: new Date(),
    ...NOTHING_KEPT,
    ...over,
  });

  it('are shown like stored ones', async () => {
    await letters.insertOne(letter(7));
    const shown = await run(`show ${topic}/0/7`);
    expect(shown.stdout).toMatch(/event subject +o7\n/);
    expect(shown.stdout).not.toContain(MARIA);
    expect((await run(`show ${topic}/0/7 --raw`)).stdout).toContain(`${MARIA} 7`);
  });

  it('are not shown after the deletion of their customer', async () => {
    await letters.insertOne(letter(7, { customers: ['s1/c7'], erased: true }));
    for (const flag of ['--raw', '--json']) {
      const { stdout, stderr } = await run(`show ${topic}/0/7 ${flag}`);
      expect(stderr).toContain('its customer is deleted');
      expect(stdout).not.toContain(MARIA);
    }
    expect((await run('list')).stdout).toMatch(/\/0\/7 +- +unknown_type: not known then/);
  });

  it('can be retried, unless Kafka has no message or another one at their offset', async () => {
    const foreign = letter(5, { published_at: new Date(1) });
    const beyond = letter(4_711);
    await letters.insertMany([letter(9), letter(2), foreign, letter(1), beyond]);
    const missing = 'its message is not kept, and Kafka does not have it any longer';
    expect(await retry('--all')).toMatchObject({
      code: 1,
      applied: 2,
      stayed: [
        { id: foreign._id, reason: 'unknown_type', detail: missing },
        { id: `${topic}/0/9`, reason: 'malformed', detail: 'the message is not JSON' },
        { id: beyond._id, reason: 'unknown_type', detail: missing },
      ],
    });
    expect(await orders()).toEqual(['s1/o1', 's1/o2']);
    expect(await letters.findOne({ _id: `${topic}/0/9` })).toMatchObject({
      reason: 'malformed',
      cut: true,
      value: null,
      kept_bytes: 0,
    });
  });

  it('can be retried if one stands for an unreadable batch: each message is applied or gets a letter', async () => {
    const gathered = { count: 20, last_offset: 38 };
    const batch = letter(19, { reason: 'unreadable', gathered, value_bytes: 0 });
    await letters.insertMany([batch, letter(10)]);
    expect((await run('list')).stdout).toMatch(
      /\n21 dead letters \(1 unknown_type, 20 unreadable\)/,
    );
    const before = await orders();
    const malformed = { reason: 'malformed', detail: 'the message is not JSON' };
    expect(await retry('--reason unreadable')).toMatchObject({
      code: 1,
      applied: 18,
      outdated: 0,
      stayed: [
        { id: `${topic}/0/19`, ...malformed },
        { id: `${topic}/0/29`, ...malformed },
      ],
    });
    const good = times(20, (index) => index + 19).filter((index) => index % 10 !== 9);
    expect(await orders()).toEqual([...before, ...good.map((index) => `s1/o${index}`)].toSorted());
    // The first message's letter has the id of the batch's letter.
    const left = await letters.find({}, { sort: { offset: 1 } }).toArray();
    expect(left.map(({ offset, reason, gathered }) => [offset, reason, gathered])).toEqual([
      [10, 'unknown_type', undefined],
      [19, 'malformed', undefined],
      [29, 'malformed', undefined],
    ]);
    // A second retry applies nothing twice.
    await letters.replaceOne({ _id: batch._id }, batch);
    expect(await retry(batch._id)).toMatchObject({ code: 1, applied: 0, outdated: 18 });
  });
});
