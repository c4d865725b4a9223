/** Revocations do not wait for what is costly to read, check or write, in any environment. */
import zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { keyEvent, orderEvent } from '#test/events.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp } from '#test/read-models.ts';
import { produceRaw } from '#test/raw-produce.ts';
import { encodeBatch } from '#test/record-batches.ts';
import { times } from '#test/times.ts';

const BOMB_BYTES = 65 * 1_048_576;

const service = useQueryService({ environments: 2, partitions: 1 });

/** An order of 195 kB without a total. */
const refused = (index: number) => {
  const item = { product_id: 'p', name: 'x', quantity: 1, unit_price: '1.00', total: '1.00' };
  const items = times(500, () => ({ ...item, options: times(100, () => ({})) }));
  const data = {
    status: 'pending',
    order_type: 'takeout',
    created_at: '2026-03-01T12:00:00Z',
    items,
  };
  return { entity: 'order', storeId: 's1', subject: `o${index}`, sequence: 1, data };
};

/** @returns the number of messages. */
const FLOODS: Record<string, (environment: string) => Promise<number>> = {
  '24 batches that unpack beyond the bound': async (environment) => {
    const codec = { number: 4, pack: (bytes: Buffer) => zlib.zstdCompressSync(bytes) };
    const bomb = encodeBatch({ records: [{ value: Buffer.alloc(BOMB_BYTES) }], codec });
    const target = { topic: changesTopic(environment), partition: 0 };
    await Promise.all(times(24, () => produceRaw(service.installation.kafka, target, bomb)));
    return 24;
  },
  '150 orders of 195 kB that are refused': async (environment) => {
    // A request may have 10 MiB.
    for (let sent = 0; sent < 150; sent += 30)
      await service.installation.publish(
        times(30, (index) => refused(sent + index)),
        environment,
      );
    return 150;
  },
  '100,000 orders': async (environment) => {
    const time = new Date('2026-01-01T00:00:00Z');
    const order = (index: number) => orderEvent(`o${index}`, { storeId: `s${index % 50}`, time });
    await service.installation.publish(times(100_000, order), environment);
    return 100_000;
  },
};

it.each(
  Object.entries(FLOODS).flatMap(([what, flood]) =>
    ['the same', 'another'].map((where, index) => ({ what, flood, where, index })),
  ),
)(
  'a revocation takes effect while $what of $where environment wait',
  async ({ what, flood, where, index }) => {
    const { config, databases, publishAccess } = service.installation;
    const environment = config.environments[index] ?? '';
    const checkpoints = databases
      .generation(environment, 1)
      .collection<{ topic: string; position: number }>(CHECKPOINTS);
    const position = async () => (await checkpoints.findOne())?.position ?? 0;
    const clientId = `${what} ${where}`.replaceAll(/\W/g, '');
    const token = await service.tokenOf({ clientId });
    await caughtUp(service.installation, environment);
    await service.stopProjector();
    const before = await position();
    const length = await flood(environment);
    await service.startProjector();
    await eventually('the flood is being read', async () => (await position()) > before);
    await publishAccess([keyEvent(clientId, 1_000, { status: 'revoked' })]);
    let whenRevoked = Infinity;
    await eventually('the key is refused', async () => {
      if ((await service.api.get('/api/order/list', token)).status !== 401) return false;
      whenRevoked = await position();
      return true;
    });
    expect(whenRevoked).toBeLessThan(before + length);
  },
);
