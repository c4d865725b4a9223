/** `audit`: who changed access, and when. */
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Filter } from 'mongodb';
import { AUDIT_ACTIONS, type AuditDetails, type AuditRecord, auditIn } from '#shared/access/audit.ts';
import { parseInstant } from '#shared/events/instant.ts';
import { withServers } from '../servers.ts';
import { clientId as readClientId, command, duration, limitOption, storeOption } from '../options.ts';
import { printable, printRows, remarkMore } from '../output/print.ts';

export const auditCommand = () =>
  command('audit', 'Show who changed access, and when')
    .option('--since <time>', 'only what is not older: a span such as 24h, or a date-time with zone', since)
    .addOption(storeOption('only what is about a store'))
    .option('-c, --client-id <id>', 'only what is about a key', readClientId)
    .addOption(new Option('--action <action>', 'only one kind').choices(AUDIT_ACTIONS))
    .addOption(limitOption(100, ', the newest'))
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
        const found = await records.find(filter, { sort: { at: -1, _id: -1 }, limit: flags.limit + 1 }).toArray();
        const ends = await records.find({ began: { $in: found.map(({ _id }) => _id) } }).toArray();
        const endOf = (began: AuditRecord) => {
          if (began.phase === 'applied') return began;
          // Nothing says how it ended: the command was killed, or MongoDB was away.
          return ends.find((end) => end.began?.equals(began._id)) ?? null;
        };
        const newest = found.slice(0, flags.limit).toReversed();
        const rows = newest.map((began) => toJson(began, endOf(began)));
        printRows(rows, 'nothing', [
          ['AT', ({ at }) => at.toISOString()],
          ['ACTOR', ({ actor }) => printable(actor), 'fills'],
          ['ACTION', 'action'],
          ['ABOUT', (change) => printable(aboutInWords(change)), 'fills'],
          ['OUTCOME', ({ outcome, result }) => printable(outcomeInWords(outcome, result)), 'fills'],
        ]);
        remarkMore(found, flags.limit);
      }),
    );

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
  const store = store_id === undefined ? undefined : `${environment ?? ''}/${store_id}`;
  return [store, client_id, session_id, kid].filter((part) => part !== undefined).join(' ');
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
    throw new InvalidArgumentError('It must be a time such as 24h, or such as 2026-11-20T21:00:00-03:00.');
  }
}
