/** `stores`: lists and shows stores; blocks, unblocks and exports one. */
import { isBlocked, type StoreAccess, storeAccessId } from '#shared/access/access-keys.ts';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { notFound } from '#shared/errors.ts';
import { readChange } from '#shared/events/change.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import { leaveOutDropped } from '#shared/projection/dead-letters/decisions.ts';
import { readLoosely } from '#shared/projection/dead-letters/letter.ts';
import { COLLECTIONS, type StoreDocument } from '#shared/read-models/collections.ts';
import { changeAccess, remarkUnknownStore, storeSubject } from '../access/change.ts';
import { command, environmentOption, limitOption, storeCommand, waitOption } from '../options.ts';
import { markFailed, printFacts, printRows, remark } from '../output.ts';
import { type Environment, openEnvironment, openServers } from '../servers.ts';
import { inWords, toJson as quotaToJson } from './quota.ts';
import { once } from 'node:events';

export const listCommand = () =>
  command('list', 'List stores that have a record or a key')
    .addOption(environmentOption('only those of an environment'))
    .addOption(limitOption(100))
    .action(async (flags) => {
      await using servers = await openServers();
      const ofEach = servers
        .environmentsOf(flags)
        .map((environment) => storesOf(environment, {}, flags.limit + 1));
      const rows = (await Promise.all(ofEach)).flat().map(({ row }) => row);
      printRows(
        rows,
        [
          'store_id',
          'environment',
          'blocked',
          'active_keys',
          ['QUOTA', ({ quota }) => inWords(quota)],
          'name',
        ],
        flags.limit,
      );
    });

export const showCommand = () =>
  storeCommand('show', 'Show the access to a store, and the number of its records').action(
    async (store_id, flags) => {
      await using environment = await openEnvironment(flags);
      const [found] = await storesOf(environment, { store_id }, 1);
      if (found === undefined) throw noStore(store_id, environment);
      const counts = await countsOf(environment, store_id);
      const { row, access } = found;
      const inText = {
        name: row.name ?? '(its record has not arrived)',
        quota: inWords(row.quota),
      };
      printFacts(
        { ...row, counts },
        { ...row, ...inText, status: statusInWords(access), ...counts },
      );
    },
  );

const noStore = (storeId: string, { name }: Environment) =>
  notFound(`there is no store ${storeId} in ${name}`);

/** The stores of an environment by id: each has a record, an access status or a key. */
async function storesOf(of: Environment, filter: { store_id?: string }, limit: number) {
  const { name: environment, servers } = of;
  const generation = await of.liveGeneration();
  const { stores, keys } = await servers.access();
  const first = { sort: { store_id: 1 }, limit } as const;
  const [records, access, owners] = await Promise.all([
    generation?.db.collection<StoreDocument>(COLLECTIONS.store).find(filter, first).toArray() ?? [],
    stores.find({ environment, ...filter }, first).toArray(),
    keys
      .aggregate<{ _id: string; active: number; all: number }>([
        { $match: { environment, ...filter } },
        {
          $group: {
            _id: '$store_id',
            active: { $sum: { $cond: [{ $eq: ['$status', 'active'] }, 1, 0] } },
            all: { $sum: 1 },
          },
        },
        { $sort: { _id: 1 } },
        { $limit: limit },
      ])
      .toArray(),
  ]);
  const named = [...records, ...access].map((one) => one.store_id);
  const ids = new Set([...named, ...owners.map(({ _id }) => _id)]);
  return [...ids]
    .toSorted()
    .slice(0, limit)
    .map((store_id) => {
      const record = records.find((one) => one.store_id === store_id);
      const { active = 0, all = 0 } = owners.find(({ _id }) => _id === store_id) ?? {};
      const known = access.find(({ _id }) => _id === storeAccessId(environment, store_id)) ?? null;
      const row = {
        store_id,
        environment,
        // `null` until the store's own record has arrived.
        name: record === undefined ? null : (JSON.parse(record.summary) as { name: string }).name,
        blocked: isBlocked(known),
        access_status: known?.access_status ?? 'active',
        record_status: known?.record_status ?? 'active',
        quota: quotaToJson(known?.quota),
        active_keys: active,
        keys: all,
      };
      return { row, access: known };
    });
}

async function countsOf(environment: Environment, store_id: string) {
  const generation = await environment.liveGeneration();
  const { store: _record, ...kinds } = COLLECTIONS;
  const counts = Object.values(kinds).map(async (collection) => {
    const count = await generation?.db.collection(collection).countDocuments({ store_id });
    return [collection, count ?? 0] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

function statusInWords(access: StoreAccess | null): string {
  if (!isBlocked(access)) return 'active';
  if (access?.erased !== undefined) {
    return access.erased.ends === undefined
      ? 'blocked: it is being erased'
      : 'blocked: it was erased';
  }
  return access?.access_status === 'blocked' ? 'blocked' : 'blocked by its own record';
}

const STATUS_COMMANDS = [
  ['block', 'blocked', 'Let no key of a store in'],
  ['unblock', 'active', 'Let the keys of a store in again'],
] as const;

export const statusCommands = () =>
  STATUS_COMMANDS.map(([name, status, description]) =>
    storeCommand(name, description)
      .addOption(waitOption())
      .action(async (store_id, flags) => {
        await using chosen = await openEnvironment(flags);
        const { servers, name: environment } = chosen;
        // Blocking does not wait for this.
        const remarking = remarkUnknownStore(chosen, store_id);
        const subject = storeSubject(await servers.access(), { environment, store_id });
        const changing = changeAccess(
          servers,
          { action: `stores.${name}` },
          subject,
          () => ({ status }),
          flags.wait * 1_000,
        );
        await Promise.allSettled([changing, remarking]);
        const { changed } = await changing;
        if (!changed) remark(`note: it was ${status} already`);
        const blocked = isBlocked(await subject.read());
        if (status === 'active' && blocked) {
          remark(
            'note: the store’s own record is "blocked", so it stays blocked until that changes',
          );
        }
        printFacts({ store_id, environment, access_status: status, blocked, changed, live: true });
      }),
  );

export const exportCommand = () =>
  storeCommand('export', 'Print the events of a store as NDJSON, from the log').action(
    async (storeId, flags) => {
      await using environment = await openEnvironment(flags);
      const { events, rejected, unreadable } = await exportEvents(environment, storeId);
      // A store may be known by its keys or its blocking alone.
      if (
        events + rejected === 0 &&
        (await storesOf(environment, { store_id: storeId }, 1)).length === 0
      ) {
        throw noStore(storeId, environment);
      }
      remark(`${events} events of store ${storeId} in ${environment.name}`);
      if (rejected > 0)
        remark(`store-data: ${rejected} of its messages are not events and are left out`);
      if (unreadable > 0)
        remark(`store-data: ${unreadable} record batches cannot be read; their stores are unknown`);
      if (rejected + unreadable > 0) markFailed();
    },
  );

/**
 * Writes a store's events up to the present end of the log, each as a line of NDJSON for `publish`, in the order of the log. Like read
 * models it skips dropped messages, and those before an erasure of the store.
 * @returns the numbers of events, of other messages of the store, and of unreadable record batches, whose stores are unknown.
 */
async function exportEvents({ servers, name, topic }: Environment, storeId: string) {
  const control = await servers.control();
  const erased = await findErasedIn(control, name)([storeId]);
  const counts = { events: 0, rejected: 0, unreadable: 0 };
  const { stdout } = process;
  const reader = await servers.logReader(topic);
  for (const [partition, { start, end }] of await reader.bounds()) {
    await reader.read({ partition, from: start, to: end }, async (batch) => {
      const { messages } = await leaveOutDropped(control, {
        topic,
        partition,
        messages: batch,
        next: 0,
      });
      counts.unreadable += messages.filter((message) => message.unreadable !== undefined).length;
      const own = messages.filter(
        (message) =>
          message.key?.toString('utf8') === storeId &&
          !erased.skips(storeId, { topic, partition }, message),
      );
      const lines = own.filter(isEvent).map(toLine);
      counts.events += lines.length;
      counts.rejected += own.length - lines.length;
      if (lines.length > 0 && !stdout.write(`${lines.join('\n')}\n`)) await once(stdout, 'drain');
    });
  }
  return counts;
}

function isEvent(message: LogMessage): boolean {
  try {
    readChange(message);
    return true;
  } catch (error) {
    if (error instanceof EventRejected) return false;
    throw error;
  }
}

/** An event in structured mode, on one line. */
function toLine(message: LogMessage): string {
  const { attributes, value } = readLoosely(message);
  // JSON has line breaks only between its parts.
  const text = (message.value ?? '').toString('utf8').replaceAll(/[\r\n]/g, ' ');
  if (attributes === value) return text;
  // In binary mode headers of these names are not attributes.
  const { data: _data, data_base64: _base64, ...others } = attributes;
  // Not parsed: unknown fields may be nested deeper than JSON.stringify can write.
  return `${JSON.stringify(others).slice(0, -1)}${text === '' ? '' : `,"data":${text}`}}`;
}
