import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { startService, type ServiceProcess } from '#test/service-process.ts';
import {
  type CatalogueRecord,
  group,
  largeGroup,
  largeGroupCatalogue,
  publishRecords,
  sharedGroupCatalogue,
} from '#test/shared-groups-catalogue.ts';
import { peakMebibytes } from '../bench/process-figures.ts';
import { note } from './results.ts';

/** A neighbour's order must be visible within this time during every change of the catalogue. */
const BOUND_MS = 5_000;
/** The bound of each service. Repeated groups took 550 MB for one group of 800 KB. */
const MAX_MEBIBYTES = 500;

interface Shared {
  storeId: string;
  what: string;
  catalogue: CatalogueRecord[];
  /** The changing group, in its n-th state. */
  changed: (index: number) => CatalogueRecord;
  changes: number;
}

const CASES: Shared[] = [
  {
    storeId: 'common',
    what: 'a group that 2,000 products name changes',
    catalogue: sharedGroupCatalogue(2_000),
    changed: (index) => group('common', 20, 400 + index),
    changes: 100,
  },
  {
    storeId: 'large',
    what: 'one of ten groups of 60 KiB that 300 products name changes',
    catalogue: largeGroupCatalogue(300),
    changed: (index) => largeGroup(3, 400 + index),
    changes: 20,
  },
];

describe('a catalogue whose products share option groups', () => {
  const service = useQueryService({ partitions: 1 });
  let projector: ServiceProcess;
  let query: ServiceProcess;
  let url: string;
  beforeAll(async () => {
    for (const { storeId } of CASES) await service.setKey({ clientId: storeId, storeId });
    await service.stopProjector();
    projector = startService('projector', service.installation.env);
    query = startService('query', service.installation.env);
    url = String((await query.logged(({ msg }) => msg === 'query service started'))['url']);
  });
  afterAll(async () => {
    for (const process of [projector, query]) process?.kill('SIGTERM');
    await Promise.all([projector?.ended, query?.ended]);
  });

  const peak = async ({ process }: ServiceProcess) =>
    Math.round(await peakMebibytes(process.pid ?? 0));

  /**
   * Publishes a neighbour's order on the same partition.
   * @returns the milliseconds until it is visible.
   */
  async function orderOfNeighbour(id: string): Promise<number> {
    const { installation } = service;
    const orders = (await readModels(installation)).collection<{ _id: string }>(COLLECTIONS.order);
    const began = performance.now();
    await installation.publish([orderEvent(id, { storeId: 'neighbour' })]);
    await eventually('the order is there', async () => {
      return (await orders.findOne({ _id: `neighbour/${id}` })) !== null;
    });
    return performance.now() - began;
  }

  async function ask(path: string, token: string): Promise<string> {
    const response = await fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status, path).toBe(200);
    let bytes = 0;
    let last = '';
    for await (const part of response.body ?? []) {
      bytes += (part as Uint8Array).byteLength;
      last = Buffer.from(part as Uint8Array).toString();
    }
    expect(last.endsWith('}'), path).toBe(true);
    return `${Math.ceil(bytes / 1_048_576)} MiB`;
  }

  it.each(CASES)(
    'delays no neighbour, takes little memory and is answered: $what',
    async ({ storeId, what, catalogue, changed, changes }) => {
      const { installation } = service;
      await publishRecords(installation, storeId, catalogue, 0);
      await caughtUp(installation, installation.environment, 300_000);
      const waits: number[] = [];
      for (let index = 0; index < changes; index += 1) {
        await publishRecords(installation, storeId, [changed(index)], 0);
        waits.push(await orderOfNeighbour(`${storeId}${index}`));
      }
      const token = await service.api.token(storeId, 'secret');
      const began = performance.now();
      const menu = await ask('/api/menu/', token);
      const menuMs = performance.now() - began;
      await ask('/api/product/list?page_size=100', token);
      const [projecting, answering] = [await peak(projector), await peak(query)];
      const memory = `projector ${projecting} MiB, query service ${answering} MiB at most`;
      note({
        fault: `${what}: a neighbour's order (${memory})`,
        recoveriesMs: waits,
        boundMs: BOUND_MS,
        events: catalogue.length + 2 * changes,
      });
      note({
        fault: `the same: its menu of ${menu}`,
        recoveriesMs: [menuMs],
        boundMs: 60_000,
        events: 1,
      });
      expect(Math.max(...waits)).toBeLessThan(BOUND_MS);
      expect(projecting).toBeLessThan(MAX_MEBIBYTES);
      expect(answering).toBeLessThan(MAX_MEBIBYTES);
    },
  );
});
