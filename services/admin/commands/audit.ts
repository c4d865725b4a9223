/** `audit`: who changed access, and when. */
import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Filter } from 'mongodb';
import { AUDIT_ACTIONS, type AuditRecord, auditIn } from '#shared/access/audit.ts';
import { parseInstant } from '#shared/events/instant.ts';
import { withServers } from '../connection/servers.ts';
import { clientId as readClientId, duration, jsonOption, limitOption, storeOption } from '../options.ts';
import { printable, printResult, remark, tableOf } from '../output/print.ts';

/** A change, from its first record to its last. */
interface Change {
  began: AuditRecord;
  /** `null` where nothing says how it ended: the command was killed, or MongoDB was away. */
  ended: AuditRecord | null;
}

export const auditCommand = () =>
  new Command('audit')
    .description('Show who changed access, and when')
    .option('--since <time>', 'only what is not older: a span such as 24h, or a date-time with zone', since)
    .addOption(storeOption('only what is about a store'))
    .option('-c, --client-id <id>', 'only what is about a key', readClientId)
    .addOption(new Option('--action <action>', 'only one kind').choices(AUDIT_ACTIONS))
    .addOption(limitOption(100, ', the newest'))
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const records = auditIn(await servers.control());
        const filter: Filter<AuditRecord> = {
          phase: { $in: ['begun', 'applied'] },
          ...(flags.since === undefined ? {} : { at: { $gte: flags.since } }),
          ...(flags.store === undefined ? {} : { store_id: flags.store }),
          ...(flags.clientId === undefined ? {} : { client_id: flags.clientId }),
          ...(flags.action === undefined ? {} : { action: flags.action }),
        };
        const found = await records
          .find(filter, { sort: { at: -1, _id: -1 }, limit: flags.limit + 1 })
          .toArray();
        const shown = found.slice(0, flags.limit).toReversed();
        const ends = await records.find({ began: { $in: shown.map(({ _id }) => _id) } }).toArray();
        const changes = shown.map((began): Change => {
          const ended = ends.find((end) => end.began?.equals(began._id));
          return { began, ended: began.phase === 'applied' ? began : (ended ?? null) };
        });
        printResult(flags, changes.map(toJson), changes.length === 0 ? 'nothing' : toTable(changes));
        if (found.length > shown.length) remark(`there are more than ${flags.limit}: --limit shows more`);
      }),
    );

function toJson({ began, ended }: Change): object {
  const { at, actor, action, details, environment, store_id, client_id, session_id, kid } = {
    ...began,
    ...ended,
    at: began.at,
    details: began.details,
  };
  const outcome = ended?.phase ?? 'unknown';
  return {
    at,
    actor,
    action,
    environment,
    store_id,
    client_id,
    session_id,
    kid,
    ...(began.phase === 'applied' ? { result: details } : { asked: details, result: ended?.details ?? null }),
    outcome,
    ended_at: ended?.at ?? null,
  };
}

function toTable(changes: Change[]): string {
  return tableOf(changes, [
    ['AT', ({ began }) => began.at.toISOString()],
    ['ACTOR', ({ began }) => printable(began.actor), 'fills'],
    ['ACTION', ({ began }) => began.action],
    ['ABOUT', (change) => printable(aboutInWords(change)), 'fills'],
    ['OUTCOME', (change) => printable(outcomeInWords(change)), 'fills'],
  ]);
}

function aboutInWords({ began, ended }: Change): string {
  const { environment, store_id, client_id, session_id, kid } = { ...began, ...ended };
  const store = store_id === undefined ? undefined : `${environment ?? ''}/${store_id}`;
  return [store, client_id, session_id, kid].filter((part) => part !== undefined).join(' ');
}

function outcomeInWords({ ended }: Change): string {
  if (ended === null) return 'unknown';
  const details = Object.entries(ended.details).map(([name, value]) => `${name} ${String(value)}`);
  return [ended.phase, ...details].join(', ');
}

/** An argument that says how far to look back. */
function since(text: string): Date {
  const instant = parseInstant(text);
  if (instant !== null) return new Date(instant);
  try {
    return new Date(Date.now() - duration(text));
  } catch {
    throw new InvalidArgumentError('It must be a time such as 24h, or such as 2026-11-20T21:00:00-03:00.');
  }
}
