import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { generationCaughtUp, generationDb, statesOf } from '#test/generations.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { dump } from '#test/read-models.ts';
import { killAll, startKilledProjector, startService, type ServiceProcess } from '#test/service-process.ts';
import { shopping } from '#test/shopping.ts';
import { runJson, startCommand } from '../admin/run-command.ts';

const EVENTS = 1_200;
const ORDERS = EVENTS / 2;
const CUSTOMERS = 150;
/** One at a random instant, one in a transaction. */
const KILLS = 2;

describe('a rebuild whose projector and whose command are killed', () => {
  let installation: Installation;
  const services: ServiceProcess[] = [];
  beforeAll(async () => {
    installation = await createInstallation({
      partitions: 2,
      settings: { KAFKA_SESSION_TIMEOUT_MS: '1000', PROJECTOR_SLICE_EVENTS: '25' },
    });
  });
  afterAll(async () => {
    await killAll(services);
    await installation?.close();
  });
  const start = (dying?: number) => {
    const { env } = installation;
    const service = dying === undefined ? startService('projector', env) : startKilledProjector(env, dying);
    services.push(service);
    return service;
  };
  const filled = async () => {
    const found = await generationDb(installation, 2).collection<Checkpoint>(CHECKPOINTS).find().toArray();
    return found.reduce((sum, { position }) => sum + position, 0);
  };

  it('goes on where it was, and equals the live generation in the end', async () => {
    const first = start();
    await installation.publish(
      shopping({
        events: EVENTS,
        orders: ORDERS,
        customers: CUSTOMERS,
        stores: ['s0', 's1', 's2', 's3', 's4'],
      }),
    );
    await generationCaughtUp(installation, 1);
    first.kill('SIGTERM');
    await first.ended;

    for (let kill = 1; kill <= KILLS; kill += 1) {
      const before = await filled();
      const command = startCommand(installation.env, ['rebuild', '--share', '100']);
      if (kill % 2 === 0) {
        // Between the last write of a transaction and its commit.
        const service = start(3 + kill);
        expect(await service.ended).toEqual({ code: null, signal: 'SIGKILL' });
      } else {
        const service = start();
        await eventually('something more is filled', async () => (await filled()) > before);
        await sleep(Math.random() * 50);
        service.kill('SIGKILL');
        await service.ended;
      }
      command.process.kill('SIGKILL');
      await command.result;
      expect(await statesOf(installation)).toEqual(['1 live', '2 building']);
      expect(await filled()).toBeGreaterThan(0);
    }
    expect(await filled()).toBeLessThan(EVENTS);
    const last = start();
    const rebuilt = await runJson(installation.env, ['rebuild', '--share', '100']);
    expect(rebuilt).toMatchObject({
      generation: 2,
      flipped: { from: 1, to: 2 },
      comparison: { differences: [] },
    });
    const [live, kept] = await Promise.all([2, 1].map(async (number) => dump(generationDb(installation, number))));
    for (const name of Object.keys(kept ?? {})) expect(live?.[name], name).toEqual(kept?.[name]);
    last.kill('SIGTERM');
    expect(await last.ended).toEqual({ code: 0, signal: null });
  });
});
