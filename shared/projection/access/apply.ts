/** Applying a slice of the access topic: keys and the blocking of stores, in one transaction on the control database. */
import type { ClientSession, Db } from 'mongodb';
import {
  type AccessKey,
  applyKeyChange,
  applyStoreStatus,
  controlCollections,
  type StoreAccess,
} from '../../access/access-keys.ts';
import { type AuditRecord, writeAudit } from '../../access/audit.ts';
import { ErasedStores } from '../../access/erased-stores.ts';
import { type AccessChange, readAccessChange } from '../../events/access-event.ts';
import { EventRejected } from '../../events/rejection.ts';
import type { DeadLetter } from '../../read-models/collections.ts';
import type { Slice } from '../slice/slice.ts';
import { toDeadLetter } from '../dead-letters/letter.ts';
import type { LetterLimits } from '../dead-letters/limits.ts';
import { writeDeadLetters } from '../dead-letters/write.ts';
import { keyRecord, storeRecord } from './audit.ts';

export interface AppliedAccess {
  /** Records that changed, as they are now. */
  keys: AccessKey[];
  stores: StoreAccess[];
  outdated: number;
  deadLetters: DeadLetter[];
}

/**
 * Applies a slice in the session's transaction; what changed must be published to Redis once it is committed.
 * @param checkpoint as in `applyChanges`.
 */
export async function applyAccess(
  control: Db,
  environment: string,
  session: ClientSession,
  slice: Slice,
  hopeless: unknown,
  limits: LetterLimits | null = null,
  checkpoint?: () => Promise<void>,
): Promise<AppliedAccess> {
  await checkpoint?.();
  const collections = controlCollections(control);
  const keys = new Map<string, AccessKey>();
  const stores = new Map<string, StoreAccess>();
  const audit: AuditRecord[] = [];
  const deadLetters: DeadLetter[] = [];
  let outdated = 0;
  const named = slice.messages.map(({ key }) => key?.toString('utf8') ?? '');
  const erased = await ErasedStores.among(control, environment, named);
  for (const [at, message] of slice.messages.entries()) {
    const isPassedBy = erased.passesBy(named[at] ?? '', slice, message);
    try {
      if (hopeless !== null) {
        throw new EventRejected('projection_failed', 'its transaction failed again and again');
      }
      const change = readAccessChange(message);
      if (isPassedBy && givesRights(change)) {
        outdated += 1;
        continue;
      }
      if (change.kind === 'access_key') {
        const key = await applyKeyChange(collections.keys, environment, change, session);
        if (key === null) outdated += 1;
        else {
          keys.set(key._id, key);
          audit.push(keyRecord(change, key));
        }
      } else {
        const store = await applyStoreStatus(collections.stores, environment, change, 'access', session);
        if (store === null) outdated += 1;
        else {
          stores.set(store._id, store);
          audit.push(storeRecord(change, store));
        }
      }
    } catch (error) {
      if (!(error instanceof EventRejected)) throw error;
      if (isPassedBy) outdated += 1;
      else deadLetters.push(toDeadLetter(slice.topic, slice.partition, message, error));
    }
  }
  await writeAudit(control, session, audit);
  await writeDeadLetters(control, session, deadLetters, limits);
  return { keys: [...keys.values()], stores: [...stores.values()], outdated, deadLetters };
}

/** Of an erased store what takes rights away applies all the same: its keys stay revoked, and the store blocked. */
function givesRights(change: AccessChange): boolean {
  return change.kind === 'access_key' && change.status !== 'revoked';
}
