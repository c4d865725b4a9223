/** Reads all records of a store from the beginning of its change feed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type * as Api from './api.d.ts';
import type { ExpectedRecord } from './compare-copy.ts';

interface Changes {
  results: { kind: string; id: string; record: Record<string, unknown> | null }[];
  timezone_offset: string;
  next: string;
  more: boolean;
}

/** By kind and id. */
export async function readRecords(
  api: Api.StoreData,
  key: Api.Key,
  kinds: readonly Api.Kind[],
): Promise<Map<string, ExpectedRecord>> {
  const token = await api.token(key);
  const records = new Map<string, ExpectedRecord>();
  const named = kinds.map((kind) => `&kinds=${kind}`).join('');
  for (let after = '', more = true; more;) {
    const answer = await readChanges(`${api.url}/api/changes?records=whole&page_size=1000${named}${after}`, token);
    for (const { kind, id, record } of answer.results) {
      const name = `${kind}/${id}`;
      if (record === null) records.delete(name);
      else records.set(name, { record, timezone_offset: answer.timezone_offset });
    }
    after = `&after=${answer.next}`;
    more = answer.more;
  }
  return records;
}

/** Waits where the quota is used up: the client under test shares it. */
async function readChanges(url: string, token: string): Promise<Changes> {
  for (;;) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    if (response.ok) return (await response.json()) as Changes;
    const wait = response.headers.get('retry-after');
    if (wait === null) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
    await sleep(Number(wait) * 1_000);
  }
}
