import { afterAll, beforeAll, describe, it } from 'vitest';
import { type ReplicaSet, startReplicaSet } from './servers/replica-set.ts';
import { startTrial, type Trial } from './trial.ts';

describe('a MongoDB replica set of three whose primary is killed', () => {
  let mongodb: ReplicaSet;
  let trial: Trial;
  beforeAll(async () => {
    mongodb = await startReplicaSet(3);
    trial = await startTrial({ settings: { MONGODB_URI: mongodb.uri }, eventsPerSecond: 100 });
  });
  afterAll(async () => {
    await trial?.close();
    await mongodb?.close();
  });

  it('loses nothing that was applied: the projector waits for the next primary and goes on', async () => {
    const recoveriesMs: number[] = [];
    trial.start();
    await trial.movesOn();
    for (let kill = 0; kill < 2; kill += 1) {
      const killed = await mongodb.primary();
      await killed.kill();
      recoveriesMs.push(await trial.movesOn());
      await killed.start();
      await trial.movesOn();
    }
    await trial.conclude([{ fault: 'MongoDB primary killed (1 of 3)', recoveriesMs, boundMs: 30_000 }]);
  });
});
