/**
 * The process of the clients that follow busy stores: one connection for each, and nothing else, so that what it notes is when
 * answers have come.
 */
import { Agent, get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface FollowersOrder {
  url: string;
  /** Of each store. */
  tokens: string[];
}

/** What is told of one answer. */
export interface FollowersReport {
  /** Which of them. */
  follower: number;
  ids: string[];
  /** When the last of it had come, milliseconds since 1970. */
  at: number;
  /** Whether the client has all that there was when it began. */
  hasCaughtUp: boolean;
}

process.on('message', ({ url, tokens }: FollowersOrder) => {
  for (const [follower, token] of tokens.entries()) void follow(follower, url, token);
});

async function follow(follower: number, url: string, token: string): Promise<never> {
  const options = { agent: new Agent({ keepAlive: true }), headers: { authorization: `Bearer ${token}` } };
  let hasCaughtUp = false;
  for (let query = ''; ;) {
    const request = get(`${url}/api/order/changes?page_size=100${query}`, options);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const body = await text(response);
    const at = Date.now();
    if (response.statusCode !== 200) throw new Error(`changes were answered ${response.statusCode}`);
    const page = JSON.parse(body) as { results: { id: string }[]; next: string; more: boolean };
    hasCaughtUp ||= !page.more;
    const ids = page.results.map(({ id }) => id);
    process.send?.({ follower, ids, at, hasCaughtUp } satisfies FollowersReport);
    query = `&wait=30&after=${page.next}`;
  }
}
