/** `npm run bench -- revocation`: how long a revoked key still works, calm and while another publisher floods. */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { type Command, Option } from 'commander';
import kafkajs from 'kafkajs';
import { hashSecret } from '#shared/access/secrets.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { withTimeLimit } from '#shared/time-limit.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { layGround } from '../ground.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { rounded } from '../median.ts';
import { atLeast, jsonOption } from '../options.ts';
import { peakMebibytes } from '../process-figures.ts';
import { serviceProgram } from '../programs.ts';
import { type BenchKey, fetchTokens, publishKeys } from '../query/tokens.ts';
import { runToEnd, show } from '../run-and-present.ts';
import { type Say, say } from '../say.ts';

export interface RevocationOptions {
  bombs: number;
  revocations: number;
  apart: number;
  floods: FloodName[];
  same?: true;
}

interface Phase {
  name: string;
  revocations: number;
  p50_ms: number;
  p99_ms: number;
  /** The longest that the projector's operations port took to answer. */
  block_ms: number;
  /** Of the projector since its start, in MiB. */
  peak_mib: number;
  /** From when the flood became readable until all of it was applied. */
  applied_s: number | null;
}

export interface RevocationResult {
  benchmark: 'revocation';
  date: string;
  machine: Machine;
  load_average: number;
  same: boolean;
  bombs: number;
  phases: Phase[];
}

const PARTITIONS = 3;
/** What each installation makes for itself. */
const OWN = new Set(['ENVIRONMENTS', 'NAME_PREFIX', 'SIGNING_KEYS']);
const PATH = '/api/store/info/';
const POLL_MS = 20;
const APPLIED_LIMIT_MS = 60_000;
const ZSTD = 4;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runRevocationBench(
  { bombs, revocations, apart, floods, same }: RevocationOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<RevocationResult> {
  const ground = await layGround(say, cleanup);
  const machine = await describeMachine(ground.installation.mongodb);
  const load = loadavg()[0] ?? 0;

  /** Each has an installation of its own: a partition that one flood stops is no other's. */
  const measure = async (name: string, flood: FloodName | null): Promise<Phase> => {
    const settings = Object.fromEntries(
      Object.entries(ground.installation.env).filter(([setting]) => !OWN.has(setting)),
    );
    const installation = await createInstallation({ environments: 2, partitions: PARTITIONS, settings });
    cleanup.defer(() => installation.close());
    const flooded = installation.config.environments[same ? 0 : 1] ?? '';
    const start = async (service: 'query' | 'projector') => {
      const program = await serviceProgram(service);
      return ground.start({ ...program, name: `${service}-${name}` }, installation.env);
    };
    const query = await start('query');
    const { url } = query;
    const projector = await start('projector');
    const stores = Array.from({ length: Math.ceil(revocations * 1.5) }, (_, index) => `s${index}`);
    const keys = await publishKeys(installation, stores);
    for (const key of keys) await untilStatus(() => tokenStatus(url, key), 200);
    const tokens = await fetchTokens(url, keys);
    await caughtUp(installation, flooded);
    const letGo = flood === null ? null : await holdBack(installation, flooded, bombs, await FLOODS[flood]());
    const watch = watchLoop(projector.operations);
    const began = performance.now();
    await letGo?.();
    let appliedMs: number | null = null;
    let isOver = false;
    const applying = async () => {
      const late = () => new Error('the flood is not applied in time');
      try {
        await withTimeLimit(APPLIED_LIMIT_MS, late, () => caughtUp(installation, flooded));
        appliedMs = performance.now() - began;
      } catch {
        // It is said that it is not.
      }
      isOver = true;
    };
    const applied = applying();
    const times: Promise<number>[] = [];
    for (const [index, key] of keys.entries()) {
      if (index >= revocations && isOver) break;
      times.push(revoke(installation, url, key, tokens.get(key.storeId) ?? ''));
      await sleep(apart);
    }
    const sorted = (await Promise.all(times)).toSorted((a, b) => a - b);
    await applied;
    const percentile = (part: number) =>
      rounded(sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN, 0);
    const phase = {
      name,
      revocations: sorted.length,
      p50_ms: percentile(0.5),
      p99_ms: percentile(0.99),
      block_ms: rounded(await watch.stop(), 0),
      peak_mib: rounded(await peakMebibytes(projector.pid), 0),
      applied_s: flood === null || appliedMs === null ? null : rounded(appliedMs / 1_000, 1),
    };
    say(JSON.stringify(phase));
    await projector.stop();
    await query.stop();
    return phase;
  };
  const phases = [await measure('calm', null)];
  for (const flood of floods) phases.push(await measure(flood, flood));
  return {
    benchmark: 'revocation',
    date: new Date().toISOString().slice(0, 10),
    machine,
    load_average: rounded(load, 1),
    same: same === true,
    bombs,
    phases,
  };
}

/** Publishes batches that nobody can read yet. @returns a function that lets them be read. */
async function holdBack(
  { kafka }: Installation,
  environment: string,
  batches: number,
  packed: Buffer,
): Promise<() => Promise<void>> {
  // kafkajs asks it for the records of each batch, whatever these are.
  const usual = (kafkajs.CompressionCodecs as Record<number, unknown>)[ZSTD];
  const codecs: Record<number, unknown> = kafkajs.CompressionCodecs;
  codecs[ZSTD] = () => ({ compress: () => Promise.resolve(packed) });
  const producer = kafka.producer({
    transactionalId: `${environment}-flood`,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout: 300_000,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  for (let batch = 0; batch < batches; batch += 1) {
    await transaction.send({
      topic: changesTopic(environment),
      compression: ZSTD,
      messages: [{ value: null, partition: 0 }],
    });
  }
  codecs[ZSTD] = usual;
  return async () => {
    await transaction.commit();
    await producer.disconnect();
    const admin = kafka.admin();
    await admin.connect();
    const isReadable = async () => {
      const offsets = await admin.fetchTopicOffsets(changesTopic(environment));
      return offsets.some(({ high }) => Number(high) >= batches);
    };
    await eventually('the flood is readable', isReadable);
    await admin.disconnect();
  };
}

/** Revokes a key. @returns the milliseconds until a request with its token answers 401. */
async function revoke(
  { publishAccess }: Installation,
  url: string,
  { storeId, clientId, secret }: BenchKey,
  token: string,
): Promise<number> {
  const began = performance.now();
  await publishAccess([
    {
      entity: 'access_key',
      storeId,
      subject: clientId,
      sequence: 2,
      data: { secret_sha256: hashSecret(secret), scopes: ['store'], status: 'revoked' },
    },
  ]);
  await untilStatus(async () => {
    const response = await fetch(`${url}${PATH}`, { headers: { authorization: `Bearer ${token}` } });
    await response.arrayBuffer();
    return response.status;
  }, 401);
  return performance.now() - began;
}

async function tokenStatus(url: string, { clientId, secret }: BenchKey): Promise<number> {
  const response = await fetch(`${url}/api/auth/token/`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  });
  await response.arrayBuffer();
  return response.status;
}

async function untilStatus(ask: () => Promise<number>, status: number): Promise<void> {
  while ((await ask()) !== status) await sleep(POLL_MS);
}

/** Asks a process again and again; what takes longest shows how long its event loop did nothing else. */
function watchLoop(operations: string): { stop: () => Promise<number> } {
  const stopping = new AbortController();
  const watch = async () => {
    let longest = 0;
    while (!stopping.signal.aborted) {
      const began = performance.now();
      await fetch(`${operations}/live`).then((response) => response.arrayBuffer());
      longest = Math.max(longest, performance.now() - began);
      await sleep(POLL_MS);
    }
    return longest;
  };
  const watching = watch();
  return {
    stop: () => {
      stopping.abort();
      return watching;
    },
  };
}

const MEBIBYTE = 1_048_576;
const HEADERS = 1_000_000;

export type FloodName = keyof typeof FLOODS;

/** The packed records of a batch, by what is wrong with it. */
export const FLOODS = {
  /** Beyond the bound, which only unpacking tells. */
  refused: () => packStreaming(record(Buffer.alloc(70 * MEBIBYTE))),
  /** Within the bound: it has to be unpacked, and is a message that is too large. */
  unpacked: () => packStreaming(record(Buffer.alloc(60 * MEBIBYTE))),
  /** With a million headers. */
  headers: () => packStreaming(record(Buffer.from('{}'), HEADERS)),
} as const;

/** Without the size in front, since nothing tells the codec where the data ends. */
async function packStreaming(bytes: Buffer): Promise<Buffer> {
  const stream = createZstdCompress({ chunkSize: MEBIBYTE });
  const parts: Buffer[] = [];
  stream.on('data', (part: Buffer) => parts.push(part));
  const ended = new Promise((resolve, reject) => stream.on('end', resolve).on('error', reject));
  stream.write(bytes.subarray(0, 1));
  stream.flush(constants.ZSTD_e_flush, () => stream.end(bytes.subarray(1)));
  await ended;
  return Buffer.concat(parts);
}

/** A record without a key. https://kafka.apache.org/documentation/#record */
function record(value: Buffer, headers = 0): Buffer {
  const header = Buffer.from([...varint(1), 0x61, ...varint(-1)]);
  const body = Buffer.concat([
    Buffer.from([0, ...varint(0), ...varint(0), ...varint(-1), ...varint(value.length)]),
    value,
    Buffer.from(varint(headers)),
    Buffer.alloc(header.length * headers, header),
  ]);
  return Buffer.concat([Buffer.from(varint(body.length)), body]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = (value << 1) ^ (value >> 31);
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}

export function addRevocationBench(program: Command): void {
  program
    .command('revocation')
    .description('From a key’s revocation by event to the first 401, calm and during floods.')
    .option('--bombs <number>', 'batches of a flood, readable all at once', atLeast(1), 120)
    .option('--revocations <number>', 'revocations of one measurement, at least', atLeast(1), 50)
    .option('--apart <number>', 'milliseconds between revocations', atLeast(1), 200)
    .addOption(
      new Option('--floods <names...>', 'which floods')
        .choices(Object.keys(FLOODS))
        .default(Object.keys(FLOODS)),
    )
    .option('--same', 'flood the environment of the keys, not another one')
    .addOption(jsonOption())
    .action(async ({ json, ...options }: RevocationOptions & { floods: FloodName[]; json?: true }) => {
      const result = await runToEnd((cleanup) => runRevocationBench(options, say, cleanup));
      show({ json }, result, renderScreen(result));
    });
}

function renderScreen({ machine, load_average: load, same, bombs, phases }: RevocationResult): string {
  return [
    `${machine.cores} cores, ${machine.memory_gib} GiB, Node ${machine.node}, load average ${load} when it began`,
    `floods of ${bombs} batches in ${same ? 'the same' : 'another'} environment`,
    ...phases.map(
      ({
        name,
        revocations,
        p50_ms: p50,
        p99_ms: p99,
        block_ms: block,
        peak_mib: peak,
        applied_s: applied,
      }) =>
        `${name}: ${revocations} revocations, p50 ${p50} ms, p99 ${p99} ms; event loop blocked for ${block} ms at most; peak ${peak} MiB; flood applied after ${applied ?? '–'} s`,
    ),
    '',
  ].join('\n');
}
