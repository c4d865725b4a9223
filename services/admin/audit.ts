/**
 * Records each change of access before it is made and after it, so that none is missing; and the
 * command `audit`, which shows them.
 */
import { ObjectId, type Filter } from 'mongodb';
import { hostname, userInfo } from 'node:os';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import {
  type AuditAction,
  type AuditDetails,
  auditIn,
  type AuditRecord,
  type AuditSubject,
  AUDIT_ACTIONS,
} from '#shared/access/audit.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { openServers, type Servers } from './servers.ts';
import { remark, printRows, remarkMore } from './output.ts';
import {
  WrongUsage,
  clientId as readClientId,
  command,
  duration,
  limitOption,
  storeOption,
} from './options.ts';
import { parseInstant } from '#shared/events/instant.ts';

/** Whom it is about, and what was asked or came of it; never a secret, a hash or a token. */
interface Described extends AuditSubject {
  details: AuditDetails;
}

/**
 * Runs work that changes access, between two records; every command that changes access uses it. Without the first record nothing is
 * changed. Without the second the change stays, and the audit shows it with an unknown end.
 * @param describe its result for the second record, with the part of the subject that was not known before.
 * @throws what the work throws, after its message was recorded.
 */
export async function audited<T>(
  servers: Servers,
  about: Described & { action: AuditAction },
  work: () => Promise<T>,
  describe: (result: T) => Described,
): Promise<T> {
  const audit = auditIn(await servers.control());
  const began: AuditRecord = {
    _id: new ObjectId(),
    at: new Date(),
    actor: actorOf(process.env),
    phase: 'begun',
    ...about,
  };
  await audit.insertOne(began);
  const end = (phase: 'done' | 'failed', described: Described) => {
    const ends = { _id: new ObjectId(), at: new Date(), phase, began: began._id };
    return audit.insertOne({ ...began, ...described, ...ends }).catch((error: unknown) => {
      remark(`note: the audit lacks the end of this command: ${describeError(error)}`);
    });
  };
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await end('failed', { details: { reason: messageOf(error) } });
    throw error;
  }
  await end('done', describe(result));
  return result;
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

/**
 * The name in the environment, else the user and the machine.
 * @throws {WrongUsage} when that name cannot be one.
 */
function actorOf(env: NodeJS.ProcessEnv): string {
  const named = env[ACTOR_VARIABLE];
  if (!named) return `${userName()}@${hostname()}`;
  if (!ACTOR_PATTERN.test(named)) {
    throw new WrongUsage(
      `${ACTOR_VARIABLE} must be 1 to 128 characters without control characters`,
    );
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

export const auditCommand = () =>
  command('audit', 'Show who changed access, and when')
    .option(
      '--since <time>',
      'only records since then: a span such as 24h, or a date-time with zone',
      since,
    )
    .addOption(storeOption('only records about a store'))
    .option('-c, --client-id <id>', 'only records about a key', readClientId)
    .addOption(new Option('--action <action>', 'only one kind').choices(AUDIT_ACTIONS))
    .addOption(limitOption(100, ', the newest'))
    .action(async (flags) => {
      await using servers = await openServers();
      const records = auditIn(await servers.control());
      const filter: Filter<AuditRecord> = {
        phase: { $in: ['begun', 'applied'] },
        ...(flags.since && { at: { $gte: flags.since } }),
        ...(flags.store && { store_id: flags.store }),
        ...(flags.clientId && { client_id: flags.clientId }),
        ...(flags.action && { action: flags.action }),
      };
      const found = await records
        .find(filter, { sort: { at: -1, _id: -1 }, limit: flags.limit + 1 })
        .toArray();
      const ends = await records.find({ began: { $in: found.map(({ _id }) => _id) } }).toArray();
      const endOf = (began: AuditRecord) => {
        if (began.phase === 'applied') return began;
        // Without an end the command was killed, or MongoDB was away.
        return ends.find((end) => end.began?.equals(began._id)) ?? null;
      };
      const newest = found.slice(0, flags.limit).toReversed();
      const rows = newest.map((began) => toJson(began, endOf(began)));
      printRows(rows, [
        'at',
        'actor',
        'action',
        ['ABOUT', aboutInWords],
        ['OUTCOME', ({ outcome, result }) => outcomeInWords(outcome, result)],
      ]);
      if (found.length > flags.limit) remarkMore(flags.limit);
    });

function toJson(began: AuditRecord, ended: AuditRecord | null) {
  const { environment, store_id, client_id, session_id, kid } = { ...began, ...ended };
  const { at, actor, action, phase, details: asked } = began;
  return {
    at,
    actor,
    action,
    environment,
    store_id,
    client_id,
    session_id,
    kid,
    ...(phase === 'applied' ? { result: asked } : { asked, result: ended?.details ?? null }),
    outcome: ended?.phase ?? 'unknown',
    ended_at: ended?.at ?? null,
  };
}

function aboutInWords(change: ReturnType<typeof toJson>): string {
  const { environment, store_id, client_id, session_id, kid } = change;
  const place = store_id === undefined ? environment : `${environment ?? ''}/${store_id}`;
  return [place, client_id, session_id, kid].filter((part) => part !== undefined).join(' ');
}

function outcomeInWords(outcome: string, result: AuditDetails | null): string {
  const details = Object.entries(result ?? {}).map(([name, value]) => `${name} ${String(value)}`);
  return [outcome, ...details].join(', ');
}

function since(text: string): Date {
  const instant = parseInstant(text);
  if (instant !== null) return new Date(instant);
  try {
    return new Date(Date.now() - duration(text));
  } catch {
    throw new InvalidArgumentError(
      'It must be a time such as 24h, or such as 2026-11-20T21:00:00-03:00.',
    );
  }
}
