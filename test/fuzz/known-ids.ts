/** Ids of records that are there, by the parameter that takes them: with random ones every answer would be 404. */
import type { System } from './system.ts';

interface Documented {
  paths: Record<string, { get?: { responses: Record<string, { links?: Record<string, Link> }> } }>;
}

interface Link {
  parameters: Record<string, string>;
}

/** A cursor from the middle of every change feed, by its path: behind it are changes, so that nobody waits. */
export async function knownCursors({ url }: System, token: string): Promise<Record<string, string>> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Documented;
  const cursors: Record<string, string> = {};
  for (const path of Object.keys(document.paths).filter((name) => name.endsWith('/changes'))) {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${url}${path}?page_size=1`, { headers });
    cursors[path] = ((await answer.json()) as { next: string }).next;
  }
  return cursors;
}

/** The first record of every list whose answer links to other operations. */
export async function knownIds({ url }: System, token: string): Promise<Record<string, string>> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Documented;
  const ids: Record<string, string> = {};
  for (const [path, { get }] of Object.entries(document.paths)) {
    const links = Object.values(get?.responses['200']?.links ?? {});
    if (links.length === 0) continue;
    const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    const { results } = (await answer.json()) as { results: { id: string }[] };
    const [first] = results;
    if (first === undefined) continue;
    for (const { parameters } of links) {
      for (const name of Object.keys(parameters)) ids[name] ??= first.id;
    }
  }
  return ids;
}
