/** The measured figures that capacity is computed from: those of `bench -- scale`, and what clients that wait cost of `bench -- changes`. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kind, medianOf, type RequestFigures, type ScaleRecord } from '../../bench/scale/result.ts';
import { MIX } from './demand.ts';

export interface Figures {
  /** Where it was measured: so many stores at least and at most. */
  stores: { least: number; most: number };
  projectorUs: number;
  /** MongoDB's processor time for an event. */
  eventMongodbUs: number;
  eventBytes: number;
  /** A request of the mix. */
  request: Record<
    'queryUs' | 'mongodbUs' | 'redisUs' | 'clientBytes' | 'mongodbBytes' | 'redisBytes',
    number
  >;
  orderDocumentBytes: number;
  orderIndexBytes: number;
  sessionBytes: number;
  storeBytes: number;
  queryMib: number;
  projectorMib: number;
  /** Of a client that waits: memory of the query service, and cores. */
  waitingKib: number;
  waitingCores: number;
  /** The most that were measured to wait at one instance. */
  waitingAtOnce: number;
}

const DOCS = join(import.meta.dirname, '../../../docs');

/** Medians of one instance, whatever the number of stores: a moment in which the machine was busy moves no figure. @param changes the document in which `bench -- changes` tells what it found. */
export function figuresOf(records: readonly ScaleRecord[], changes: string): Figures {
  const alone = records.filter(({ instances }) => instances === 1);
  if (alone.length === 0) throw new Error('one instance was not measured');
  const { projector, requests, storage, query_peak_mib: queryMib } = medianOf(alone);
  const mean = (of: (figures: RequestFigures) => number | null) =>
    Object.entries(MIX).reduce((sum, [kind, share]) => sum + share * numberOf(of(requests[kind as Kind])), 0);
  const waiting = /([\d,]+) clients wait for [\d,]+ stores: ([\d.]+) KiB .* each, ([\d.]+) % of a core/.exec(
    changes,
  );
  if (waiting === null) throw new Error('docs/benchmarks.md does not say what clients that wait cost');
  const [waitingAtOnce = 0, waitingKib = 0, percent = 0] = waiting
    .slice(1)
    .map((text) => Number(text.replaceAll(',', '')));
  return {
    stores: {
      least: Math.min(...alone.map(({ stores }) => stores)),
      most: Math.max(...alone.map(({ stores }) => stores)),
    },
    projectorUs: projector.cpu_us,
    eventMongodbUs: numberOf(projector.mongodb_us),
    eventBytes: projector.event_bytes,
    request: {
      queryUs: mean(({ cpu_us: cpu }) => cpu),
      mongodbUs: mean(({ mongodb_us: mongodb }) => mongodb),
      redisUs: mean(({ redis_us: redis }) => redis),
      clientBytes: mean(({ client_bytes: bytes }) => bytes),
      mongodbBytes: mean(({ mongodb_bytes: bytes }) => bytes),
      redisBytes: mean(({ redis_bytes: bytes }) => bytes),
    },
    orderDocumentBytes: storage.order_document_bytes,
    orderIndexBytes: storage.order_index_bytes,
    sessionBytes: storage.session_bytes,
    storeBytes: storage.store_bytes,
    queryMib,
    projectorMib: projector.peak_mib,
    waitingKib,
    waitingCores: percent / 100 / waitingAtOnce,
    waitingAtOnce,
  };
}

/** What the documents of this checkout say. */
export async function readFigures(): Promise<Figures> {
  const records = JSON.parse(await readFile(join(DOCS, 'scale.json'), 'utf8')) as ScaleRecord[];
  return figuresOf(records, await readFile(join(DOCS, 'benchmarks.md'), 'utf8'));
}

function numberOf(value: number | null): number {
  if (value === null) throw new Error('MongoDB’s processor time was not measured');
  return value;
}
