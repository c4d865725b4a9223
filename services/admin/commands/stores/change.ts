/** `stores block`, `unblock`, `export` and `erase`: who may read a store, its events in the log, and its end. */
import { once } from 'node:events';
import { Command } from '@commander-js/extra-typings';
import { controlCollections, isBlocked, storeAccessId } from '#shared/access/access-keys.ts';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { readChange } from '#shared/events/change.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';
import { type LogMessage, unreadableBatch } from '#shared/kafka/message.ts';
import { DropDecisions } from '#shared/projection/dead-letters/decisions.ts';
import { readLoosely } from '#shared/projection/dead-letters/letter.ts';
import { changeAccess, remarkUnknownStore } from '../../access/change.ts';
import { storeSubject } from '../../access/subject.ts';
import { audited } from '../../audit.ts';
import { inEnvironment, type Servers } from '../../connection/servers.ts';
import { addUp, type Counts } from '../../erase/documents.ts';
import { countHoldings, eraseStore } from '../../erase/store.ts';
import { jsonOption, oneEnvironmentOption, storeId as readStoreId, waitOption } from '../../options.ts';
import { type Facts, markFailed, printFacts, remark } from '../../output/print.ts';

/** A command about one store. */
const storeCommand = (name: string, description: string) =>
  new Command(name)
    .description(description)
    .argument('<store>', 'the store', readStoreId)
    .addOption(oneEnvironmentOption());

const STATUS_COMMANDS = [
  ['block', 'blocked', 'Let no key of a store in'],
  ['unblock', 'active', 'Let the keys of a store in again'],
] as const;

export const statusCommands = () =>
  STATUS_COMMANDS.map(([name, status, description]) =>
    storeCommand(name, description)
      .addOption(waitOption())
      .addOption(jsonOption())
      .action((store_id, flags) =>
        inEnvironment(flags, async (servers, environment) => {
          // Blocking does not wait for that.
          const looking = remarkUnknownStore(servers, environment, store_id);
          const control = await servers.control();
          const subject = storeSubject(control, servers.config.namePrefix, environment, store_id);
          const about = { action: `stores.${name}`, environment, store_id } as const;
          const change = { compose: () => ({ status }), waitMs: flags.wait * 1_000 };
          const changing = changeAccess(servers, about, subject, change);
          await Promise.allSettled([changing, looking]);
          const { changed } = await changing;
          if (!changed) remark(`note: it was ${status} already`);
          const { stores } = controlCollections(control);
          const blocked = isBlocked(await stores.findOne({ _id: storeAccessId(environment, store_id) }));
          if (status === 'active' && blocked) {
            remark('note: the store’s own record says "blocked", so it stays blocked until that changes');
          }
          printFacts(flags, { store_id, environment, access_status: status, blocked, changed, live: true }, [
            ['store', store_id],
            ['environment', environment],
            ['status', blocked ? 'blocked' : 'active'],
          ]);
        }),
      ),
  );

export const eraseCommand = () =>
  storeCommand('erase', 'Remove everything that is stored of a store, for good')
    .option('-y, --yes', 'do it; without it nothing is changed, and what there is is counted')
    .addOption(jsonOption())
    .action((store_id, flags) =>
      inEnvironment(flags, async (servers, environment) => {
        const store = { environment, store_id };
        await remarkUnknownStore(servers, environment, store_id);
        const { access, generations: stored } = await countHoldings(servers, store);
        let generations = stored;
        const erased = flags.yes === true;
        if (erased) {
          const about = { action: 'stores.erase', ...store, details: {} } as const;
          generations = await audited(servers, about, async () => {
            const result = await eraseStore(servers, store);
            const counts = Object.values(addUp(result.map((one) => one.documents)));
            const documents = counts.reduce((sum, count) => sum + count, 0);
            return { result, details: { documents, generations: result.length } };
          });
        }
        printFacts(flags, { ...store, erased, access, generations }, [
          ['store', store_id],
          ['environment', environment],
          ['status', erased ? 'erased' : 'nothing is changed'],
          ...countsInWords('', access),
          ...generations.flatMap(({ generation, documents }) => countsInWords(`g${generation} `, documents)),
        ]);
        if (!erased) remark('note: give --yes to erase it, and stop whoever publishes its changes before');
      }),
    );

function countsInWords(prefix: string, counts: Counts): Facts {
  return Object.entries(counts).map(([name, count]) => [`${prefix}${name.replaceAll('_', ' ')}`, count]);
}

export const exportCommand = () =>
  storeCommand('export', 'Print the events of a store as NDJSON, from the log').action((storeId, flags) =>
    inEnvironment(flags, async (servers, environment) => {
      const { events, rejected, unreadable } = await exportEvents(servers, environment, storeId);
      remark(`${events} events of store ${storeId} in ${environment}`);
      if (rejected > 0) remark(`store-data: ${rejected} of its messages are no events, and are left out`);
      if (unreadable > 0)
        remark(`store-data: ${unreadable} record batches cannot be read, of whatever stores`);
      if (rejected + unreadable > 0) markFailed();
    }),
  );

/**
 * Writes a store's events up to the present end of the log, each as a line of NDJSON that `publish` takes, partition by partition in
 * the order of the log. What read models skip is skipped here too: what was dropped, and what is of before an erasure of the store.
 * @returns how many events there were, how many messages of the store were no events and not dropped, and how many record batches
 * cannot be read, of which nobody knows whose messages they hold.
 */
async function exportEvents(servers: Servers, environment: string, storeId: string) {
  const topic = changesTopic(environment);
  const control = await servers.control();
  const erased = await findErasedIn(control, environment)([storeId]);
  const dropped = new DropDecisions(control, topic);
  const counts = { events: 0, rejected: 0, unreadable: 0 };
  const { stdout } = process;
  const reader = await LogReader.open(servers, topic);
  try {
    for (const [partition, { start, end }] of await reader.bounds()) {
      await reader.read({ partition, from: start, to: end }, async (batch) => {
        const { messages } = await dropped.leaveOut({ topic, partition, messages: batch, next: 0 });
        counts.unreadable += messages.filter((message) => unreadableBatch(message) !== undefined).length;
        const own = messages.filter(
          (message) =>
            message.key?.toString('utf8') === storeId &&
            !erased.passesBy(storeId, { topic, partition }, message),
        );
        const lines = own.filter(isEvent).map(toLine);
        counts.events += lines.length;
        counts.rejected += own.length - lines.length;
        if (lines.length > 0 && !stdout.write(`${lines.join('\n')}\n`)) await once(stdout, 'drain');
      });
    }
    return counts;
  } finally {
    await reader.close();
  }
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
  // Outside of texts a line break means nothing, and inside JSON has none.
  const text = (message.value ?? '').toString('utf8').replaceAll(/[\r\n]/g, ' ');
  if (attributes === value) return text;
  // Headers of these names say nothing in binary mode.
  const { data: _data, data_base64: _base64, ...others } = attributes;
  // The text as it is: unknown fields may be nested deeper than can be written.
  return `${JSON.stringify(others).slice(0, -1)}${text === '' ? '' : `,"data":${text}`}}`;
}
