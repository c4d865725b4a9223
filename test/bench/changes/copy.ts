/** A first copy of whole records by one client, and what a neighbour feels of it. */
import { startLoad } from '../load/load.ts';
import { median, rounded } from '../median.ts';
import { cpuSeconds, peakMebibytes, residentMebibytes } from '../process-figures.ts';

export interface CopyResult {
  records: number;
  pages: number;
  mebibytes: number;
  seconds: number;
  /** Milliseconds of the query service's processor time for one page. */
  cpu_ms: number;
  /** Memory of the query service before, and the most that it ever had. */
  resident_mib: number;
  peak_mib: number;
  /** Of the neighbour's requests, medians of rounds in turn: alone, and while somebody copies. */
  neighbour: { alone_p99_ms: number; beside_p99_ms: number; ratio: number };
}

interface Server {
  pid: number;
  url: string;
}

const NEIGHBOUR_CONNECTIONS = 2;
const WARM_UP_SECONDS = 2;

/** Copies once by itself, then again and again while a neighbour's requests are measured with it and without. */
export async function measureCopy(
  query: Server,
  { token, neighbour }: { token: string; neighbour: string },
  { rounds, seconds }: { rounds: number; seconds: number },
  cleanup: AsyncDisposableStack,
): Promise<CopyResult> {
  const resident = await residentMebibytes(query.pid);
  const cpuBefore = await cpuSeconds(query.pid);
  const copied = await copyWhole(query, token);
  const cpu = (await cpuSeconds(query.pid)) - cpuBefore;
  const load = startLoad(cleanup);
  const ask = async (length: number) =>
    (
      await load({
        url: `${query.url}/api/order/list?page_size=20`,
        headers: { authorization: `Bearer ${neighbour}` },
        connections: NEIGHBOUR_CONNECTIONS,
        seconds: length,
        status: 200,
      })
    ).p99_ms;
  await ask(WARM_UP_SECONDS);
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await ask(seconds));
    const stopped = new AbortController();
    const copying = (async () => {
      while (!stopped.signal.aborted) await copyWhole(query, token, stopped.signal);
    })();
    beside.push(await ask(seconds));
    stopped.abort();
    await copying;
  }
  return {
    ...copied,
    cpu_ms: rounded((cpu * 1_000) / copied.pages, 2),
    resident_mib: rounded(resident, 0),
    peak_mib: rounded(await peakMebibytes(query.pid), 0),
    neighbour: {
      alone_p99_ms: rounded(median(alone), 2),
      beside_p99_ms: rounded(median(beside), 2),
      ratio: rounded(median(beside.map((p99, round) => p99 / (alone[round] ?? 1))), 2),
    },
  };
}

/** Reads everything, one page after the other, and counts it without parsing it: a client's work is not what is measured. */
async function copyWhole({ url }: Server, token: string, signal?: AbortSignal) {
  const began = performance.now();
  let [pages, records, bytes] = [0, 0, 0];
  for (let after = ''; ;) {
    if (signal?.aborted === true) break;
    const response = await fetch(`${url}/api/changes?records=whole&page_size=1000${after}`, {
      headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'identity' },
    });
    const body = Buffer.from(await response.arrayBuffer());
    const [, next, more] =
      /"next":"([^"]+)","more":(true|false)}$/.exec(body.toString('latin1', body.length - 200)) ?? [];
    if (response.status !== 200 || next === undefined) throw new Error(`a page answered ${response.status}`);
    pages += 1;
    bytes += body.length;
    for (let at = body.indexOf(ENTRY); at !== -1; at = body.indexOf(ENTRY, at + 1)) records += 1;
    if (more === 'false') break;
    after = `&after=${next}`;
  }
  const seconds = rounded((performance.now() - began) / 1_000, 1);
  return { records, pages, mebibytes: rounded(bytes / 1_048_576, 0), seconds };
}

const ENTRY = '{"kind":"';
