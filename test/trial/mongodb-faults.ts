/**
 * What MongoDB does while a trial runs: its primary hands over, and it refuses commands of
 * projectors because it is overloaded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  commandAt,
  failPoint,
  type ReplicaSet,
  SERVICE_COMMANDS,
} from '../faults/servers/replica-set.ts';

export interface MongodbFaults {
  /** Lets the primary step down; the members elect another one. */
  stepDown: () => Promise<void>;
  /** Refuses half of what projectors ask for, as MongoDB 8.2 does when it is overloaded. */
  shedLoad: (milliseconds: number) => Promise<void>;
}

const OVERLOADED = { errorCode: 462, errorLabels: ['SystemOverloadedError', 'RetryableError'] };

export function mongodbFaults(mongodb: ReplicaSet): MongodbFaults {
  return {
    async stepDown() {
      const primary = await mongodb.primary();
      await commandAt(primary, { replSetStepDown: 15, secondaryCatchUpPeriodSecs: 10 });
      await mongodb.primary();
    },
    async shedLoad(milliseconds) {
      const primary = await mongodb.primary();
      const data = { ...OVERLOADED, failCommands: SERVICE_COMMANDS, appName: 'projector' };
      const end = await failPoint(primary, 'failCommand', data, { activationProbability: 0.5 });
      await sleep(milliseconds);
      await end();
    },
  };
}
