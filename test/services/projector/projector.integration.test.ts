import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { type RunningProjector } from '#projector/projector.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { generationGroup } from '#shared/read-models/generation.ts';
import { orderEvent, orderMessage } from '#test/events.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { stream } from '#test/streams.ts';
import { endsOf, withAdmin } from '#test/topics.ts';

const maria = { id: 'c1', name: 'Maria', phone: '11 9', document: '123' };

describe('projector', () => {
  let installation: Installation;
  let projector: RunningProjector;

  beforeAll(async () => {
    installation = await createInstallation();
    projector = await startSilentProjector(installation);
  });
  afterAll(async () => {
    await projector?.stop();
    await installation?.close();
  });

  const find = async (collection: string, _id: string) => {
    const db = await readModels(installation);
    return db.collection<{ _id: string; [field: string]: unknown }>(collection).findOne({ _id });
  };
  const whole = async (id: string) =>
    JSON.parse(String((await find('orders', `s1/${id}`))?.['whole'])) as Record<string, unknown>;

  it('applies the newest version of an entity, whatever the order in which versions come', async () => {
    const version = (sequence: number, status: string) => orderEvent('v', { sequence, data: { status } });
    await installation.publish([version(5, 'ready'), version(4, 'confirmed'), version(5, 'cancelled')]);
    await caughtUp(installation);
    expect(await find('orders', 's1/v')).toMatchObject({ sequence: 5, facet: 'da0' });
    await installation.publish([{ ...version(3, ''), action: 'deleted', data: undefined }]);
    await caughtUp(installation);
    expect(await find('orders', 's1/v')).toMatchObject({ sequence: 5 });
  });

  it('tells the group how far it is, for tools that show lag', async () => {
    await installation.publish([orderEvent('lag')]);
    await caughtUp(installation);
    const { config, environment, kafka } = installation;
    const topic = changesTopic(environment);
    const groupId = generationGroup(config.namePrefix, environment, 1);
    const told = async () => {
      const [committed] = await withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId, topics: [topic] }));
      return new Map(committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
    };
    await expect.poll(told, { timeout: 120_000 }).toEqual(await endsOf(kafka, topic));
  });

  it('keeps a deleted entity deleted until a newer version comes', async () => {
    const change = (sequence: number) => orderEvent('d', { sequence });
    await installation.publish([change(1), { ...change(3), action: 'deleted' as const, data: undefined }, change(2)]);
    await caughtUp(installation);
    expect(await find('orders', 's1/d')).toBeNull();
    expect(await find('tombstones', 'order/s1/d')).toMatchObject({ sequence: 3 });
    await installation.publish([change(3)]);
    await caughtUp(installation);
    expect(await find('orders', 's1/d')).toBeNull();
    await installation.publish([change(4)]);
    await caughtUp(installation);
    expect(await find('orders', 's1/d')).toMatchObject({ sequence: 4 });
    expect(await find('tombstones', 'order/s1/d')).toBeNull();
  });

  it('takes a deleted customer’s data out of orders, and keeps it out while they are deleted', async () => {
    const named = (id: string, sequence: number) => orderEvent(id, { sequence, data: { customer: maria } });
    const customer = { entity: 'customer', storeId: 's1', subject: 'c1' };
    const state = { name: 'Maria', created_at: '2026-03-01T12:00:00Z' };
    const nobody = { id: 'c1', name: null, phone: null, document: null };

    await installation.publish([{ ...customer, sequence: 1, data: state }, named('e1', 1), named('e2', 1)]);
    await caughtUp(installation);
    expect((await whole('e1'))['customer']).toEqual(maria);

    await installation.publish([{ ...customer, sequence: 2, action: 'deleted' }]);
    await caughtUp(installation);
    expect((await whole('e1'))['customer']).toEqual(nobody);
    expect(JSON.parse(String((await find('orders', 's1/e1'))?.['summary']))['customer']).toEqual({
      id: 'c1',
      name: null,
      phone: null,
    });
    expect(await find('orders', 's1/e1')).toMatchObject({ sequence: 1, customer_id: 'c1' });

    await installation.publish([named('e2', 2), named('e3', 1)]);
    await caughtUp(installation);
    expect((await whole('e2'))['customer']).toEqual(nobody);
    expect((await whole('e3'))['customer']).toEqual(nobody);

    await installation.publish([{ ...customer, sequence: 3, data: state }, named('e3', 2)]);
    await caughtUp(installation);
    expect((await whole('e3'))['customer']).toEqual(maria);
    expect((await whole('e1'))['customer']).toEqual(nobody);
  });

  it('takes a deleted customer’s document out of an order that names nothing else of them', async () => {
    const customer = { entity: 'customer', storeId: 's1', subject: 'c2' };
    const named = { customer: { id: 'c2', document: '12345678909' } };
    await installation.publish([orderEvent('f1', { data: named })]);
    await caughtUp(installation);
    await installation.publish([{ ...customer, sequence: 1, action: 'deleted' }]);
    await caughtUp(installation);
    expect((await whole('f1'))['customer']).toEqual({ id: 'c2', name: null, phone: null, document: null });
  });

  it('keeps poison as dead letters with its bytes and place, and applies what lies behind it', async () => {
    const topic = changesTopic(installation.environment);
    const large = Buffer.alloc(3 * 1_048_576, 0x78);
    await installation.send(topic, [
      { key: 'poison', value: '{"specversion":"1.0","id":"tru' },
      { key: 'poison', value: null, headers: {} },
      { key: null, value: 'x' },
      { key: 'poison', value: large },
    ]);
    await installation.publish([orderEvent('behind', { storeId: 'poison' })]);
    await caughtUp(installation);
    const db = await readModels(installation);
    expect(await find('orders', 'poison/behind')).not.toBeNull();
    const letters = await db.collection('dead_letters').find({ topic }).sort({ value_bytes: 1 }).toArray();
    expect(letters.map(({ reason, value_bytes }) => [reason, value_bytes])).toEqual([
      ['malformed', 0],
      ['malformed', 1],
      ['malformed', 30],
      ['too_large', large.length],
    ]);
    const [, , truncated, oversized] = letters;
    expect(truncated?.['_id']).toBe(`${topic}/${truncated?.['partition']}/${truncated?.['offset']}`);
    expect(String(truncated?.['value'].buffer)).toBe('{"specversion":"1.0","id":"tru');
    expect(oversized?.['value'].length()).toBe(1_048_576);
  });

  it('makes bodies in the store’s offset, and -03:00 until it is known', async () => {
    const store = { name: 'Loja', timezone_offset: '+05:30', created_at: '2026-03-01T12:00:00Z' };
    const change = (id: string) => orderEvent(id, { storeId: 'tz' });
    await installation.publish([
      change('before'),
      { entity: 'store', storeId: 'tz', subject: 'tz', sequence: 1, data: store },
      change('after'),
    ]);
    await caughtUp(installation);
    const bodies = await Promise.all(
      ['before', 'after'].map(async (id) => (await find('orders', `tz/${id}`))?.['summary']),
    );
    expect(bodies.map((body) => JSON.parse(String(body))['created_at'])).toEqual([
      '2026-03-01T09:00:00',
      '2026-03-01T17:30:00',
    ]);
    expect(await find('stamps', 'tz')).toMatchObject({ timezone_offset: '+05:30', order: 2, store: 1 });
  });

  it('passes the markers and gaps of transactional producers', async () => {
    const topic = changesTopic(installation.environment);
    const producer = installation.kafka.producer({
      transactionalId: installation.environment,
      maxInFlightRequests: 1,
      idempotent: true,
    });
    await producer.connect();
    for (const [id, commits] of [
      ['t1', true],
      ['t2', false],
      ['t3', false],
      ['t4', true],
    ] as const) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [orderMessage(id)] });
      await (commits ? transaction.commit() : transaction.abort());
    }
    await producer.disconnect();
    await installation.publish([orderEvent('t5')]);
    await caughtUp(installation);
    const found = await Promise.all(
      ['t1', 't2', 't3', 't4', 't5'].map(async (id) => (await find('orders', `s1/${id}`)) !== null),
    );
    expect(found).toEqual([true, false, false, true, true]);
  });
});

describe('slices', () => {
  it('lead to the same documents, tombstones and stamps, however they are cut', async () => {
    await fc.assert(
      fc.asyncProperty(stream, async (events) => {
        const installation = await createInstallation({ environments: 3, partitions: 2 });
        const projectors: RunningProjector[] = [];
        try {
          const sizes = ['1', '7', '1000'];
          for (const [index, environment] of installation.config.environments.entries()) {
            await installation.publish(events, environment);
            projectors.push(
              await startSilentProjector(installation, environment, {
                PROJECTOR_SLICE_EVENTS: sizes[index] ?? '1',
              }),
            );
          }
          const [one, seven, all] = await Promise.all(
            installation.config.environments.map(async (environment) => {
              await caughtUp(installation, environment);
              return dump(await readModels(installation, environment));
            }),
          );
          expect(seven).toEqual(one);
          expect(all).toEqual(one);
        } finally {
          await Promise.all(projectors.map((projector) => projector.stop()));
          await installation.close();
        }
      }),
      { numRuns: 2, endOnFailure: true },
    );
  });
});
