import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, type OrderDocument } from '#shared/read-models/collections.ts';
import { generationGroup } from '#shared/read-models/generation.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { generationCaughtUp, generationDb, statesOf } from '#test/generations.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, dump } from '#test/read-models.ts';
import { stream } from '#test/streams.ts';
import { withAdmin } from '#test/topics.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

interface Answer {
  comparison: { sampled: number };
}

/** A fixed seed, since a difference must be reproducible. */
const [first = [], more = []] = fc.sample(stream, { numRuns: 2, seed: 7 });

describe('rebuild', () => {
  const installation = useInstallation();
  const projector = useProjector(installation);
  beforeAll(async () => {
    await installation.publish(first);
    await installation.send(changesTopic(installation.environment), [
      { key: 's1', value: 'poison' },
    ]);
    await caughtUp(installation);
  });

  const run = (words: string) => runCommand(installation.env, words);
  /** Asserts that the first two generations are equal. @returns the number of their documents. */
  async function compareBoth(): Promise<number> {
    const rebuilt = await dump(generationDb(installation, 2));
    expect(rebuilt).toEqual(await dump(generationDb(installation, 1)));
    return Object.values(rebuilt).flat().length;
  }

  it('makes read models equal to the present ones, and flips to them', async () => {
    const answer = await runJson<Answer>(installation.env, 'rebuild');
    expect(answer).toMatchObject({
      generation: 2,
      flipped: { from: 1, to: 2 },
      comparison: { stores: 3, unsettled: 0, differences: [] },
    });
    expect(answer.comparison.sampled).toBeGreaterThan(20);
    expect(await statesOf(installation)).toEqual(['1 kept', '2 live']);
    expect(await compareBoth()).toBeGreaterThan(50);
  });

  it('keeps both generations up to date, so that a rollback loses nothing', async () => {
    await installation.publish(more);
    await generationCaughtUp(installation, 1);
    await generationCaughtUp(installation, 2);
    await compareBoth();

    expect(await runJson(installation.env, 'rollback')).toMatchObject({ from: 2, to: 1 });
    expect(await statesOf(installation)).toEqual(['1 live', '2 kept']);
    expect(await runJson(installation.env, 'rollback')).toMatchObject({ from: 1, to: 2 });
  });

  it('drops a generation only on request, and never the live one', async () => {
    const live = `store-data: generation 2 of ${installation.environment} is live and cannot be dropped\n`;
    await expectRefused(run('generations drop 2 --yes'), live);
    await expectRefused(run('generations drop 1'), '', 2);
    await runJson(installation.env, 'generations drop 1 --yes');
    expect(await statesOf(installation)).toEqual(['2 live']);
    const { databases } = await installation.mongodb.db().admin().listDatabases({ nameOnly: true });
    expect(databases.map(({ name }) => name)).not.toContain(
      generationDb(installation, 1).databaseName,
    );
    const group = generationGroup(installation.config.namePrefix, installation.environment, 1);
    const { groups } = await withAdmin(installation.kafka, (admin) => admin.listGroups());
    expect(groups.map(({ groupId }) => groupId)).not.toContain(group);
    expect(await projector.metrics.registry.metrics()).not.toMatch(
      /store_data_generation\{[^}]*"g1"/,
    );
    await expectRefused(run('rollback'), '');
  });

  it('lists differences, and flips only if they are accepted', async () => {
    const live = generationDb(installation, 2);
    const orders = live.collection<OrderDocument>(COLLECTIONS.order);
    const customers = live.collection<{ _id: string }>(COLLECTIONS.customer);
    const [order, customer] = [await orders.findOne(), await customers.findOne()];
    if (order === null || customer === null)
      throw new Error('the stream has no orders or customers');
    const summary = { ...(JSON.parse(order.summary) as object), total: '0.01' };
    await orders.updateOne({ _id: order._id }, { $set: { summary: JSON.stringify(summary) } });
    await customers.insertOne({ ...customer, _id: 's1/zz' });

    const { code, stdout } = await run('rebuild --json');
    expect(code).toBe(1);
    const missing = { collection: 'customers', kind: 'missing', fields: [], examples: ['s1/zz'] };
    const content = { collection: 'orders', kind: 'content', examples: [order._id] };
    expect(JSON.parse(stdout)).toMatchObject({
      generation: 3,
      flipped: null,
      comparison: {
        differences: [
          { ...missing, count: 1 },
          { ...content, count: 1, fields: ['summary.total'] },
        ],
      },
    });
    expect(await statesOf(installation)).toEqual(['2 live', '3 building']);

    const inWords = await run('rebuild --accept content');
    expect(inWords.code).toBe(1);
    expect(inWords.stdout).toMatch(/^customers +missing +1 .* s1\/zz$/m);
    expect(inWords.stdout).not.toContain('0.01');
    expect((await run('generations flip')).code).toBe(1);
    expect((await run('generations flip --accept all')).code).toBe(0);
    expect(await statesOf(installation)).toEqual(['2 kept', '3 live']);
  });

  it('builds and compares with --wait, and leaves the flip to the operator', async () => {
    const { code, stdout, stderr } = await run('rebuild --wait --share 80');
    expect(code).toBe(0);
    expect(stderr).toMatch(/builds generation 4/);
    expect(stderr).toMatch(/applied \d+ of \d+ messages/);
    expect(stdout).toMatch(/generations flip 4/);
    expect(await statesOf(installation)).toEqual(['2 kept', '3 live', '4 building']);
    await eventually('metrics name the generation', async () =>
      /store_data_generation\{[^}]*generation="g4",projection_version="\d+",marker="[^"]+",state="building"\} 1/.test(
        await projector.metrics.registry.metrics(),
      ),
    );
    expect((await run('generations flip')).code).toBe(0);
    expect(await statesOf(installation)).toEqual(['2 kept', '3 kept', '4 live']);
  });
});
