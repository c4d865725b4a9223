import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginRebuild } from '#admin/rebuild/begin.ts';
import { REWRITINGS } from '#shared/read-models/collections.ts';
import { type Rewriting, rewritingId } from '#shared/projection/rewriting/queue.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { generationCaughtUp, generationDb } from '#test/generations.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { type ServiceProcess, startService } from '#test/service-process.ts';
import { offsetsIn, orderEvents, rewritten, storeEvent } from './stores.ts';

const ORDERS = 2_000;
const BEGINS = 'rewrites the bodies of a store whose offset has moved';
const ENDS = 'the bodies of the store are made for its offset';

describe('a projector that is killed while it rewrites', () => {
  let installation: Installation;
  const services: ServiceProcess[] = [];
  beforeAll(async () => {
    installation = await createInstallation({ settings: { KAFKA_SESSION_TIMEOUT_MS: '1000' } });
  });
  afterAll(async () => {
    for (const service of services) service.kill('SIGKILL');
    await Promise.all(services.map(({ ended }) => ended));
    await installation?.close();
  });
  const start = (share: number) => {
    const settings = { PROJECTOR_REWRITING_SHARE: String(share) };
    const service = startService('projector', { ...installation.env, ...settings });
    services.push(service);
    return service;
  };

  it('leaves the rest to the next, which goes on where it was', async () => {
    // It rests long after each batch.
    const first = start(4);
    await installation.publish([storeEvent('s1', 1, '-03:00'), ...orderEvents('s1', ORDERS)]);
    await first.logged(({ msg }) => msg === 'projector started');
    await caughtUp(installation);
    const db = await readModels(installation);
    await installation.publish([storeEvent('s1', 2, '-05:00')]);
    const reached = async () =>
      (await db.collection<Rewriting>(REWRITINGS).findOne({ _id: rewritingId('s1', 'offset') }))?.done;
    await eventually('a part is rewritten', async () => ((await reached())?.looked ?? 0) > 0);
    first.kill('SIGKILL');
    await first.ended;
    expect(first.lines.filter(({ msg }) => msg === BEGINS)).toHaveLength(1);
    const before = await offsetsIn(db, 's1');
    expect(before['-03:00']).toBeGreaterThan(0);
    expect(before['-05:00']).toBeGreaterThan(1);

    const second = start(100);
    const { rewritten: all, store } = await second.logged(({ msg }) => msg === ENDS);
    expect(await offsetsIn(db, 's1')).toEqual({ '-05:00': ORDERS + 1 });
    expect(await db.collection(REWRITINGS).countDocuments()).toBe(0);
    expect(second.lines.filter(({ msg }) => msg === BEGINS)).toEqual([]);
    expect(store).toBe('s1');
    expect(all).toBe(ORDERS);
  });

  it('rewrites in a generation that is built as well', async () => {
    const admin = installation.kafka.admin();
    await admin.connect();
    const { databases, config, environment } = installation;
    const servers = {
      databases,
      kafka: admin,
      prefix: config.namePrefix,
      projectionVersion: PROJECTION_VERSION,
    };
    await beginRebuild(servers, environment, 100);
    await admin.disconnect();
    await generationCaughtUp(installation, 2);
    const built = generationDb(installation, 2);
    await rewritten(built);
    expect(await offsetsIn(built, 's1')).toEqual({ '-05:00': ORDERS + 1 });
  });
});
