/** `publish`: sends the events of a file or a pipe to Kafka. */
import {
  asFailure,
  describeError,
  hasCode,
  isUnavailable,
  notFound,
  refusalOf,
  StoreDataError,
} from '#shared/errors.ts';
import { MAX_MESSAGE_BYTES } from '#shared/events/cloud-event.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { type Message, checkTopics } from '#shared/kafka/client.ts';
import {
  BY_ID,
  COLLECTIONS,
  documentId,
  documentsWith,
  findTombstones,
  tombstoneId,
} from '#shared/read-models/collections.ts';
import { command, oneEnvironmentOption } from '../options.ts';
import { isJson, markFailed, printResult, remark, formatDuration, stopSignal } from '../output.ts';
import { allMistakes, ignoredFields } from '../publish/mistakes.ts';
import {
  counted,
  linesIn,
  noCounts,
  NOT_NEWER,
  publishStream,
  readEventLine,
  type RecordVersion,
  type StoredSequences,
} from '../publish/publish-stream.ts';
import { type Environment, openEnvironment, type Servers } from '../servers.ts';
import type { Db } from 'mongodb';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/** So many events that change nothing are named. */
const MAX_OUTDATED_SHOWN = 10;
const PROGRESS_MS = 5_000;

export const publishCommand = () =>
  command('publish', 'Send events to Kafka, from a file of NDJSON or, for "-", from standard input')
    .argument('<file>', 'the file, or "-"')
    .addOption(oneEnvironmentOption())
    .option('--check', 'send nothing: name all mistakes and unknown fields')
    .action(async (file, flags) => {
      if (flags.check) return check(file);
      await using environment = await openEnvironment(flags);
      await run(environment, file);
    });

/** Reports all mistakes and ignored fields of each line, without a server. */
async function check(file: string): Promise<void> {
  const counts = { valid: 0, rejected: 0, blank: 0, unknown_fields: 0, bytes: 0 };
  const input = await openInput(file);
  for await (const lines of linesIn(counted(input, counts), MAX_MESSAGE_BYTES)) {
    for (const line of lines) {
      const say = (reason: string, detail: string) =>
        remark(lineInWords(line.number, reason, detail));
      try {
        if (readEventLine(line) === null) {
          counts.blank += 1;
          continue;
        }
        counts.valid += 1;
      } catch (error) {
        if (!(error instanceof EventRejected)) throw error;
        counts.rejected += 1;
        const mistakes = line.bytes === null ? [error] : allMistakes(line.bytes, error);
        for (const { reason, detail } of mistakes) say(reason, detail);
        if (mistakes.length === 1 && mistakes[0] === error) continue;
      }
      const ignored = ignoredFields(line.bytes ?? Buffer.alloc(0));
      for (const detail of ignored) say('unknown_field', detail);
      counts.unknown_fields += ignored.length;
    }
  }
  const { valid, rejected, unknown_fields: unknown } = counts;
  const warning = unknown === 0 ? '' : `; ${unknown} fields are unknown and ignored`;
  printResult(counts, `${valid} are events, ${rejected} are not${warning}`);
  if (rejected > 0) markFailed();
}

function lineInWords(line: number, reason: string, detail: string): string {
  return isJson() ? JSON.stringify({ line, reason, detail }) : `line ${line}: ${reason}: ${detail}`;
}

async function run(environment: Environment, file: string): Promise<void> {
  const { servers, name } = environment;
  const input = await openInput(file);
  // Connects before it reads, so that a pipe loses no lines while Kafka is away.
  await servers.kafka.producer();
  const stored = await storedSequencesOf(environment);
  const counts = noCounts();
  const stopping = stopSignal();
  // Or it would wait for a silent pipe.
  stopping.addEventListener('abort', () => input.destroy());
  const startedAt = performance.now();
  const showProgress = () => remark(`sent ${counts.sent}, rejected ${counts.rejected}`);
  const timer = setInterval(showProgress, PROGRESS_MS);
  const failure = await publishStream({
    input,
    send: senderOf(servers),
    environment: name,
    // Jobs pass their trace to programs in this variable.
    traceparent: process.env['TRACEPARENT'] || undefined,
    signal: stopping,
    counts,
    report: (line, reason, detail) => {
      const isCountedOnly = reason === NOT_NEWER && counts.outdated > MAX_OUTDATED_SHOWN;
      if (!isCountedOnly) remark(lineInWords(line, reason, detail));
      if (reason === NOT_NEWER && counts.outdated === MAX_OUTDATED_SHOWN)
        remark('more of them are only counted');
    },
    stored: stored ?? (async () => NOTHING),
  }).then(
    () => null,
    (cause: unknown) => ({ cause }),
  );
  clearInterval(timer);
  const elapsedMs = performance.now() - startedAt;
  const { sent, rejected, outdated, blank, bytes } = counts;
  const rate = Math.round((sent * 1_000) / Math.max(1, elapsedMs));
  const seconds = Math.round(elapsedMs) / 1_000;
  const notNewer = outdated === 0 ? '' : `, not newer than what is stored ${outdated}`;
  printResult(
    {
      environment: name,
      sent,
      rejected,
      outdated: stored === null ? null : outdated,
      blank,
      bytes,
      seconds,
    },
    `sent ${sent}, rejected ${rejected}${notNewer}, took ${formatDuration(elapsedMs)} (${rate} events/s)`,
  );
  const next = `line ${counts.doneUpToLine + 1} of ${file === '-' ? 'the same input' : file}`;
  const stopped = (why: string) =>
    `stopped after line ${counts.doneUpToLine}${why}; the rest begins with ${next} (an event sent twice changes nothing)`;
  if (failure !== null) {
    const { code, message } = asFailure(failure.cause);
    throw new StoreDataError(code, stopped(`: ${message}`), failure);
  }
  if (stopping.aborted) remark(stopped(''));
  if (stopping.aborted || rejected > 0) markFailed();
}

/**
 * Sends messages to the Kafka that has their topic. Each topic is checked before its first message:
 * the user may see no other.
 */
function senderOf(servers: Servers) {
  const checked = new Set<string>();
  return async (topic: string, messages: Message[]): Promise<void> => {
    // Without warnings: a publisher may not read a topic's settings.
    if (!checked.has(topic))
      await checkTopics(await servers.kafka.admin(), [topic], () => undefined);
    checked.add(topic);
    const producer = await servers.kafka.producer();
    await producer.send({ topic, acks: -1, messages }).catch((error: unknown) => {
      const refusal = refusalOf(error);
      if (refusal === null) throw error;
      // kafkajs does not name the topic.
      throw new StoreDataError('not_authorized', `${refusal}; sent to ${topic}`, { cause: error });
    });
  };
}

const CHUNK_BYTES = 262_144;

/** @throws {StoreDataError} `not_found` if the file cannot be read. */
async function openInput(path: string): Promise<Readable> {
  if (path === '-') {
    if (process.stdin.isTTY) remark('reading events from the terminal, one a line, until Ctrl-D');
    return process.stdin;
  }
  try {
    if ((await stat(path)).isDirectory()) throw notFound(`${path} is a folder, not a file`);
    const stream = createReadStream(path, { highWaterMark: CHUNK_BYTES });
    await once(stream, 'open');
    return stream;
  } catch (error) {
    if (error instanceof StoreDataError) throw error;
    throw notFound(`${path} cannot be read: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  if (hasCode(error, 'ENOENT')) return 'there is no such file';
  if (hasCode(error, 'EACCES', 'EPERM')) return 'permission denied';
  return describeError(error);
}

const NOTHING: ReadonlyMap<string, number> = new Map();

/** `null` if MongoDB cannot be read, which a publisher does not need. */
async function storedSequencesOf(environment: Environment): Promise<StoredSequences | null> {
  if (environment.servers.config.mongodb.uri === '') return null;
  const unknown = (error: unknown) => {
    if (!isUnavailable(error) && refusalOf(error) === null && !(error instanceof StoreDataError))
      throw error;
    remark(
      `note: events that are not newer than the stored ones are not recognized: ${asFailure(error).message}`,
    );
    return null;
  };
  const generation = await environment.liveGeneration().catch(unknown);
  if (generation === null) return null;
  let isKnown = true;
  return async (records) => {
    if (!isKnown || records.length === 0) return NOTHING;
    const found = await readSequences(generation.db, records).catch(unknown);
    isKnown = found !== null;
    return found ?? NOTHING;
  };
}

async function readSequences(
  db: Db,
  records: readonly RecordVersion[],
): Promise<Map<string, number>> {
  const stored = new Map<string, number>();
  const ids = records.map(({ entity, storeId, id }) => tombstoneId(entity, storeId, id));
  for (const { _id, sequence } of await findTombstones(db, ids)) stored.set(_id, sequence);
  const options = { projection: { sequence: 1 }, hint: BY_ID };
  for (const [entity, own] of Map.groupBy(records, (record) => record.entity)) {
    const documents = own.map(({ storeId, id }) => documentId(storeId, id));
    const found = db
      .collection<{ _id: string; sequence: number; store_id: string }>(COLLECTIONS[entity])
      .find(documentsWith(documents), options);
    for await (const { _id, sequence } of found) stored.set(`${entity}/${_id}`, sequence);
  }
  return stored;
}
