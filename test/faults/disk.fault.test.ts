import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, it } from 'vitest';
import { type ReplicaSet, startReplicaSet } from './servers/replica-set.ts';
import { mountSmallDisk } from './servers/small-disk.ts';
import { startTrial, type Trial } from './trial.ts';

const DISK_MEBIBYTES = 512;
const FULL_MS = 5_000;

describe('a MongoDB whose disk is full', () => {
  const disk = mountSmallDisk(DISK_MEBIBYTES);
  let mongodb: ReplicaSet | undefined;
  let trial: Trial | undefined;
  afterAll(async () => {
    await trial?.close();
    await mongodb?.close();
    if (typeof disk !== 'string') disk.close();
  });

  it('loses nothing: the projector waits for free space, and continues', async ({ skip }) => {
    if (typeof disk === 'string') {
      skip(disk);
      return;
    }
    mongodb = await startReplicaSet(1, { dataIn: disk.path });
    trial = await startTrial({ settings: { MONGODB_URI: mongodb.uri } });
    const [server] = mongodb.servers;
    trial.start();
    await trial.untilAdvanced();
    const recoveriesMs: number[] = [];
    for (let time = 0; time < 2; time += 1) {
      disk.fill();
      await sleep(FULL_MS);
      disk.empty();
      // MongoDB exits if it cannot write; its supervisor restarts it.
      if (server?.isRunning() === false) await server.start();
      recoveriesMs.push(await trial.untilAdvanced());
    }
    await trial.conclude([
      { fault: 'disk full at MongoDB, then not', recoveriesMs, boundMs: 30_000 },
    ]);
  });
});
