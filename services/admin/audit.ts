/** Runs what changes access with a record before it and one after it, so that no change goes without. */
import { ObjectId } from 'mongodb';
import { hostname, userInfo } from 'node:os';
import { InvalidArgumentError } from 'commander';
import {
  type AuditAction,
  type AuditDetails,
  auditIn,
  type AuditRecord,
  type AuditSubject,
} from '#shared/access/audit.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import type { Servers } from './servers.ts';
import { remark } from './output/print.ts';
import { WrongUsage } from './options.ts';

export interface AuditedWork extends AuditSubject {
  action: AuditAction;
  /** What is asked for. Never a secret, a hash or a token. */
  details: AuditDetails;
}

export interface AuditedResult<T> {
  result: T;
  /** Of the record of its end. */
  details: AuditDetails;
  /** What was not known before. */
  subject?: AuditSubject;
}

/**
 * Runs work that changes access. Nothing is changed when the first record cannot be written; when the last one
 * cannot, the change stays, the command says so, and the audit shows a change whose end is unknown. Every command that changes access
 * goes through here.
 * @returns what the work answered.
 * @throws what the work throws, after it was recorded as failed with its message.
 */
export async function audited<T>(
  servers: Servers,
  { action, details, ...subject }: AuditedWork,
  work: () => Promise<AuditedResult<T>>,
): Promise<T> {
  const audit = auditIn(await servers.control());
  const began: AuditRecord = {
    _id: new ObjectId(),
    at: new Date(),
    actor: actorOf(process.env),
    action,
    phase: 'begun',
    ...subject,
    details,
  };
  await audit.insertOne(began);
  const end = (phase: 'done' | 'failed', came: AuditDetails, more: AuditSubject = {}) => {
    const ends = { _id: new ObjectId(), at: new Date(), phase, began: began._id, details: came };
    return audit.insertOne({ ...began, ...more, ...ends }).catch((error: unknown) => {
      remark(`note: the audit does not say how this ended: ${describeError(error)}`);
    });
  };
  let done: AuditedResult<T>;
  try {
    done = await work();
  } catch (error) {
    await end('failed', { reason: messageOf(error) });
    throw error;
  }
  await end('done', done.details, done.subject);
  return done.result;
}

export function messageOf(error: unknown): string {
  return error instanceof StoreDataError ? error.message : describeError(error);
}

export const ACTOR_VARIABLE = 'STORE_DATA_ACTOR';

const ACTOR_PATTERN = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]{1,128}$/u;

export function actor(text: string): string {
  if (!ACTOR_PATTERN.test(text)) {
    throw new InvalidArgumentError('An actor is 1 to 128 characters without control characters.');
  }
  return text;
}

/** The name in the environment, else the user and the machine. @throws {WrongUsage} when that name cannot be one. */
export function actorOf(env: NodeJS.ProcessEnv): string {
  const named = env[ACTOR_VARIABLE];
  if (named === undefined || named === '') return `${userName()}@${hostname()}`;
  if (!ACTOR_PATTERN.test(named)) {
    throw new WrongUsage(`${ACTOR_VARIABLE} must be 1 to 128 characters without control characters`);
  }
  return named;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user often has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
