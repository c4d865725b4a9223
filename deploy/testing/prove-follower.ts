/**
 * Proves a client that follows changes: publishes difficult changes, disturbs client and services,
 * and compares the copy at the end.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readConfig, withoutSettings } from '#shared/config.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { changesTopic, encodeEvent } from '#shared/events/topics.ts';
import { PROGRAM_SUFFIX } from '#shared/source-files.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { type DeadLetter, lettersIn } from '#shared/read-models/collections.ts';
import { Databases, findLiveGeneration } from '#shared/read-models/generation.ts';
import {
  type AdversarialStream,
  adversarialStream,
  type StreamChange,
} from './adversarial-stream.ts';
import type * as Api from './api.d.ts';
import { type ClientProcess, startClient } from './client-process.ts';
import { asEvent } from './connect.ts';
import { compareCopy, describeReport, isRight, readRecords } from './compare-copy.ts';
import { measureSlowness } from './slowness.ts';
import { startWithServices, type WithServices } from './start.ts';

const ADMIN = join(import.meta.dirname, `../../services/admin/main${PROGRAM_SUFFIX}`);
const KINDS = ENTITY_NAMES.map((entity) => entity.replace('_', '-')) as Api.Kind[];
/** The changes are published in so many pieces, with a pause for the client after each. */
const PIECES = 12;
const PAUSE_MS = 300;
const RETRIED_LETTERS = 5;
const run = promisify(execFile);

export class FollowerNotProven extends Error implements Api.FollowerNotProven {
  override readonly name = 'FollowerNotProven';
  readonly report: Api.FollowerReport;

  constructor(message: string, report: Api.FollowerReport) {
    super(message);
    this.report = report;
  }
}

export const proveFollower: typeof Api.proveFollower = async (options) => {
  await using cleanup = new AsyncDisposableStack();
  const { changes = 2_000, seed = 1, kinds = KINDS, patienceSeconds = 60 } = options;
  const { settings, log = () => undefined } = options;
  // The default quota of stores: a client has to follow within it.
  const own = { settings: { QUOTA_REQUESTS: '600', ...settings }, log };
  const { api, crash } = options.api
    ? { api: options.api, crash: null }
    : await startWithServices(own);
  if (options.api === undefined) cleanup.defer(() => api.stop());
  const storeId = `proof-${randomBytes(4).toString('hex')}`;
  const stream = adversarialStream(storeId, seed);
  const key = await api.createKey({ storeId });
  const client = await startClient(options, api, key, cleanup);
  const proof: Proof = { api, crash, client, stream, key, kinds, changes };
  await publishAll(proof, log);
  return await compareInTheEnd(proof, patienceSeconds);
};

interface Proof {
  api: Api.StoreData;
  crash: WithServices['crash'] | null;
  client: ClientProcess;
  stream: AdversarialStream;
  key: Api.Key;
  kinds: readonly Api.Kind[];
  /** How many are published. */
  changes: number;
}

/** Publishes the stream, and disturbs the client and the API. */
async function publishAll(proof: Proof, log: (line: string) => void): Promise<void> {
  const { api, client, stream, changes } = proof;
  const size = Math.ceil(changes / PIECES);
  for (let piece = 0; piece < PIECES; piece += 1) {
    const events = stream.next(size);
    if (piece === PIECES - 1) events.push(...stream.rest());
    const disturbance = DISTURBANCES[piece];
    if (disturbance !== undefined) log(`while changes are published: ${disturbance.name}`);
    await Promise.all([api.publish(events), disturbance?.cause(proof)]);
    client.assertRunning();
    await sleep(PAUSE_MS);
  }
}

/**
 * Disturbances of the client or the API, by the number of the piece that is published meanwhile.
 */
const DISTURBANCES: Partial<
  Record<number, { name: string; cause: (proof: Proof) => Promise<unknown> }>
> = {
  2: { name: 'the client is killed and started', cause: restartClient },
  3: { name: 'the projector is killed', cause: async ({ crash }) => crash?.('projector') },
  4: {
    name: 'a rebuild, and the flip to it',
    cause: ({ api }) => operate(api, 'rebuild', '--share', '100'),
  },
  6: { name: 'a rollback', cause: rollBack },
  7: { name: 'the query service is killed', cause: async ({ crash }) => crash?.('query') },
  9: { name: 'the client is killed and started', cause: restartClient },
  10: { name: 'dead letters are retried', cause: retryLetters },
};

/** The changes of the piece are published while the client does not run. */
async function restartClient({ client }: Proof): Promise<void> {
  await client.kill();
  await sleep(3 * PAUSE_MS);
  await client.start();
}

/** Drops the other generation afterwards, so that the same API can serve another proof. */
async function rollBack({ api }: Proof): Promise<void> {
  await operate(api, 'rollback', '--force');
  const { stdout } = await operate(api, 'generations', 'list', '--json');
  const { generations } = JSON.parse(stdout) as {
    generations: { number: number; state: string }[];
  };
  const left = generations.find(({ state }) => state !== 'live');
  if (left !== undefined) await operate(api, 'generations', 'drop', String(left.number), '--yes');
}

/** Stores changes as dead letters, and retries them, as after a release that could not apply them. */
async function retryLetters({ api, stream }: Proof): Promise<void> {
  const changes = Array.from({ length: RETRIED_LETTERS }, (_, index) =>
    stream.makeOrder(`order-letter-${index % 3}`, 'a dead letter that was retried'),
  );
  const { environment, settings } = api.connection;
  const config = readConfig(settings);
  await using mongodb = createWriterClient(config, 'store-data-testing');
  const live = await findLiveGeneration(new Databases(config.namePrefix, mongodb), environment);
  if (live === null) throw new Error(`${environment} has no generation`);
  const letters = changes.map((change) => letterOf(change, environment));
  await lettersIn(live.db).insertMany(letters);
  await operate(api, 'dead-letters', 'retry', ...letters.map(({ _id }) => _id));
  for (const change of changes) stream.note(change);
  // Later rebuilds read the log, not the letters.
  await api.publish(changes);
}

/** Above the offsets of the messages that a proof publishes. */
const FIRST_OFFSET = 1_000_000;

function letterOf(change: StreamChange, environment: string): DeadLetter {
  const { key, value, headers } = encodeEvent(asEvent(change, change.sequence));
  const message = {
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers,
    timestamp: String(change.time.getTime()),
    attributes: 0,
    offset: String(FIRST_OFFSET + change.sequence),
  };
  const rejection = new EventRejected('projection_failed', 'a mistake of an earlier release');
  return toDeadLetter(changesTopic(environment), 0, message, rejection);
}

function operate({ connection }: Api.StoreData, ...args: string[]) {
  return run(process.execPath, [ADMIN, ...args], {
    env: { ...withoutSettings(process.env), ...connection.settings },
  });
}

async function compareInTheEnd(
  { api, client, stream, key, kinds, changes }: Proof,
  patienceSeconds: number,
): Promise<Api.FollowerReport> {
  await api.settled();
  let leftMs = patienceSeconds * 1_000;
  for (;;) {
    const began = performance.now();
    client.assertRunning();
    const last = leftMs <= 0;
    const copy = await client.readCopy().catch((error: unknown) => {
      if (last) throw error;
      return null;
    });
    if (copy !== null) {
      const expected = await readRecords(api, key, kinds);
      const report = { changes, records: expected.size, ...compareCopy(copy, expected, kinds) };
      assertApiRight(expected, stream, kinds);
      if (isRight(report)) return report;
      const lastChange = (name: string) =>
        stream.newest.get(name.replace('option-group/', 'option_group/'))?.about;
      if (last) throw new FollowerNotProven(describeReport(report, lastChange), report);
    }
    await sleep(1_000);
    // On a busy machine count only the time that an idle one would need.
    leftMs -= (performance.now() - began) / measureSlowness();
  }
}

/** @throws {Error} if the API itself lacks what was published: that is no fault of the client. */
function assertApiRight(
  expected: ReadonlyMap<string, unknown>,
  { newest }: AdversarialStream,
  kinds: readonly string[],
): void {
  const published = [...newest.values()].flatMap(({ entity, id, data }) => {
    const kind = entity.replace('_', '-');
    return data !== undefined && kinds.includes(kind) ? [`${kind}/${id}`] : [];
  });
  const differing = [...new Set(published).symmetricDifference(expected)];
  if (differing.length > 0)
    throw new Error(`the API itself does not show what was published: ${differing.join(', ')}`);
}
