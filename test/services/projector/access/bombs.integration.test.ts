/** Revocations do not wait for batches that are costly to decompress, in any topic. */
import zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { keyEvent } from '#test/events.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { produceRaw } from '#test/raw-produce.ts';
import { encodeBatch } from '#test/record-batches.ts';

const MIB = 1_048_576;
const BOMBS = 24;
const AT_ONCE = 8;

const service = useQueryService({ environments: 2, partitions: 1 });

/** The applied messages of a changes topic. */
async function position(environment: string): Promise<number> {
  const db = service.installation.databases.generation(environment, 1);
  const checkpoints = db.collection<{ _id: string; position: number }>(CHECKPOINTS);
  return (await checkpoints.findOne({ _id: `${changesTopic(environment)}/0` }))?.position ?? 0;
}

/** Publishes batches that decompress beyond the bound. */
async function flood(environment: string): Promise<void> {
  const codec = { number: 4, pack: (bytes: Buffer) => zlib.zstdCompressSync(bytes) };
  const bomb = encodeBatch({ records: [{ value: Buffer.alloc(65 * MIB) }], codec });
  const target = { topic: changesTopic(environment), partition: 0 };
  const { kafka } = service.installation;
  for (let sent = 0; sent < BOMBS; sent += AT_ONCE) {
    const sending = Array.from({ length: AT_ONCE }, () => produceRaw(kafka, target, bomb));
    await Promise.all(sending);
  }
}

it.each([0, 1])('take effect while bombs of environment %i still wait', async (index) => {
  const { config, publishAccess } = service.installation;
  const environment = config.environments[index] ?? '';
  const clientId = `key-${index}`;
  const token = await service.tokenOf({ clientId });
  await service.stopProjector();
  await flood(environment);
  await service.startProjector();
  await eventually('the flood is being read', async () => (await position(environment)) > 0);

  await publishAccess([keyEvent(clientId, 1_000, { status: 'revoked' })]);
  let whenRevoked = Infinity;
  await eventually('the key is revoked', async () => {
    const { status } = await service.api.get('/api/order/list', token);
    if (status !== 401) return false;
    whenRevoked = await position(environment);
    return true;
  });
  expect(whenRevoked).toBeLessThan(BOMBS);
});
