/** A request that is proven to be answered alike by both sides before it is measured. */
import assert from 'node:assert/strict';
import type { Side } from '../in-turn.ts';
import type { RunningService } from '../service.ts';
import type { Sides } from './setup.ts';

export interface BenchRequest {
  name: string;
  storeId: string;
  path: string;
  /** Stores that ask for the same: not everybody asks at the same store. */
  neighbours: readonly string[];
  /** The usual way is asked for the page alone, without its count. */
  uncounted: boolean;
}

export function ask(name: string, path: string, storeId: string): BenchRequest {
  return { name, path, storeId, neighbours: [], uncounted: false };
}

/** What the load generator sends to each side. */
export interface Prepared {
  ours: Side;
  usualWay: Side;
}

/** @throws when the answers differ. */
export async function prepare(
  request: BenchRequest,
  sides: Sides,
  tokens: ReadonlyMap<string, string>,
): Promise<Prepared> {
  const { name, path, neighbours, storeId } = request;
  const tokenOf = (store: string) => ({ authorization: `Bearer ${tokens.get(store) ?? ''}` });
  const { authorization } = tokenOf(storeId);
  const ask = async ({ url: origin, pid }: Pick<RunningService, 'url' | 'pid'>, asked = path) => {
    const url = `${origin}${asked}`;
    const response = await fetch(url, { headers: { authorization, 'accept-encoding': 'identity' } });
    const text = await response.text();
    assert.equal(response.status, 200, `${name}: ${url} answered ${response.status} ${text.slice(0, 300)}`);
    const each = neighbours.length === 0 ? {} : { each: [storeId, ...neighbours].map(tokenOf) };
    return { text, side: { pid, url, headers: { authorization }, ...each, status: 200 } };
  };
  const ours = await ask(sides.ours);
  const usualWay = await ask(sides.usualWay, request.uncounted ? uncounted(path) : path);
  assertSubstance(name, ours.text);
  assertAlike(name, ours.text, usualWay.text, request.uncounted);
  return { ours: ours.side, usualWay: usualWay.side };
}

/** @throws when two answers differ. */
export function assertAlike(name: string, ours: string, usualWay: string, uncounted = false): void {
  const [left, right] = [ours, usualWay].map((text) => {
    const { count, ...rest } = JSON.parse(text) as { count?: unknown };
    return uncounted ? rest : { count, ...rest };
  });
  assert.deepEqual(left, right, `${name}: the answers differ`);
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
