/** Damages a record batch on a broker's disk. */
import { open, readFile } from 'node:fs/promises';
import { batchHeader } from '#shared/kafka/record-batch.ts';

/** Ways to damage a batch, by the reason that the projector reports. */
export const DAMAGES: Record<string, (batch: Buffer) => void> = {
  corrupt: (batch) => batch.writeUInt8(batch.readUInt8(batch.length - 1) ^ 1, batch.length - 1),
  unknown_format: (batch) => batch.writeInt8(3, 16),
};

/** Damages the last complete batch of a log. @returns a function that repairs it. */
export async function damageLast(
  file: string,
  damage: (batch: Buffer) => void,
): Promise<() => Promise<void>> {
  const bytes = await readFile(file);
  let last = 0;
  for (let at = 0; ;) {
    const header = batchHeader(bytes, at);
    // Kafka preallocates the file and appends to it meanwhile.
    if (header === null || header.magic !== 2 || at + header.bytes > bytes.length) break;
    last = at;
    at += header.bytes;
  }
  const { bytes: length = 0 } = batchHeader(bytes, last) ?? {};
  const whole = bytes.subarray(last, last + length);
  const damaged = Buffer.from(whole);
  damage(damaged);
  const write = async (batch: Buffer) => {
    await using log = await open(file, 'r+');
    await log.write(batch, 0, length, last);
  };
  await write(damaged);
  return () => write(whole);
}
