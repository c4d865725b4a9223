/** Proves that both sides do the same work: the same answer to the request that is then measured. */
import assert from 'node:assert/strict';
import type { BenchRequest } from './requests.ts';
import type { Side } from '../in-turn.ts';
import type { RunningService } from '../service.ts';
import type { Sides } from './side.ts';

/** What the load generator sends to each side. */
export interface Prepared {
  request: BenchRequest;
  bodyBytes: number;
  ours: Side;
  usualWay: Side;
}

/** @throws when the answers differ, or a poll is not answered 304. */
export async function prepare(
  request: BenchRequest,
  sides: Sides,
  tokens: ReadonlyMap<string, string>,
): Promise<Prepared> {
  const { name, path, others, neighbours, storeId, poll } = request;
  const tokenOf = (store: string) => ({ authorization: `Bearer ${tokens.get(store) ?? ''}` });
  const { authorization } = tokenOf(storeId);
  const ask = async ({ url: origin, pid }: Pick<RunningService, 'url' | 'pid'>, asked = path) => {
    const url = `${origin}${asked}`;
    const response = await fetch(url, { headers: { authorization, 'accept-encoding': 'identity' } });
    const text = await response.text();
    assert.equal(response.status, 200, `${name}: ${url} answered ${response.status} ${text.slice(0, 300)}`);
    const headers = poll
      ? { authorization, 'if-none-match': response.headers.get('etag') ?? '' }
      : { authorization };
    if (poll) assert.equal((await fetch(url, { headers })).status, 304, `${name}: ${url} is no 304`);
    const paths = others.length === 0 ? {} : { paths: [path, ...others] };
    const each = neighbours.length === 0 ? {} : { each: [storeId, ...neighbours].map(tokenOf) };
    return { text, side: { pid, url, headers, ...paths, ...each, status: poll ? 304 : 200 } };
  };
  const ours = await ask(sides.ours);
  const usualWay = await ask(sides.usualWay, request.uncounted ? uncounted(path) : path);
  assertSubstance(name, ours.text);
  const [left, right] = [ours.text, usualWay.text].map((text) => {
    const { count, ...rest } = JSON.parse(text) as { count?: unknown };
    return request.uncounted ? rest : { count, ...rest };
  });
  assert.deepEqual(left, right, `${name}: the answers differ`);
  return { request, bodyBytes: Buffer.byteLength(ours.text), ours: ours.side, usualWay: usualWay.side };
}

/** The path that tells the usual way to leave the count out. */
function uncounted(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}uncounted=true`;
}

/** An empty page would be quick on both sides, and say nothing. */
function assertSubstance(name: string, text: string): void {
  const { results, categories } = JSON.parse(text) as { results?: unknown[]; categories?: unknown[] };
  assert.notEqual((results ?? categories)?.length, 0, `${name}: the answer is empty`);
}
