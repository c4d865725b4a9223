/** Finds the page in the middle of what a list answers. */
import type { MiddleOf } from './rows.ts';

const PAGE_SIZE = 20;

/** @param url of the side that is asked how many records match. */
export function middlePages(url: string, tokens: ReadonlyMap<string, string>): MiddleOf {
  return async (storeId, path) => {
    const headers = { authorization: `Bearer ${tokens.get(storeId) ?? ''}` };
    const response = await fetch(`${url}${path}`, { headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status} ${text.slice(0, 300)}`);
    const { count } = JSON.parse(text) as { count: number };
    const page = Math.max(1, Math.ceil(count / PAGE_SIZE / 2));
    return `${path}${path.includes('?') ? '&' : '?'}page=${page}`;
  };
}
