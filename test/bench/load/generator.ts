/** The load generator process: runs orders with autocannon, and times every answer. */
import autocannon from 'autocannon';
import { percentile } from '../median.ts';
import type { LoadOrder, TimedLoad } from './load.ts';

/** The maximum time of a run with slow answers. */
const LIMIT_SECONDS = 120;

process.on('message', (order: LoadOrder) => {
  void run(order).then((reply) => process.send?.(reply));
});

async function run(order: LoadOrder): Promise<TimedLoad | { failed: string }> {
  const { url, headers, body, requests: own, connections, seconds, status } = order;
  const times: number[] = [];
  let wrong: number | null = null;
  let elapsed = 0;
  const began = performance.now();
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const options: autocannon.Options = {
      url,
      headers,
      connections,
      duration: LIMIT_SECONDS,
      timeout: LIMIT_SECONDS,
      ...(body === undefined ? {} : { method: 'POST', body }),
    };
    const requests = own?.map((request) => ({
      ...request,
      headers: { ...headers, ...request.headers },
    }));
    if (requests !== undefined) {
      let begun = 0;
      options.setupClient = (client) => {
        const first = begun % requests.length;
        client.setRequests([...requests.slice(first), ...requests.slice(0, first)]);
        begun += 1;
      };
    }
    const instance = autocannon(options, (error: unknown, done) => {
      if (error instanceof Error) reject(error);
      else resolve(done);
    });
    // autocannon's own percentiles are whole milliseconds.
    instance.on('response', (_client, code, _bytes, milliseconds) => {
      times.push(milliseconds);
      elapsed = performance.now() - began;
      if (status !== undefined && code !== status && !(status === 304 && code === 200))
        wrong = code;
      // At least one answer per connection, so that slow answers are measured, too.
      if (wrong !== null || (elapsed >= seconds * 1_000 && times.length >= connections))
        instance.stop();
    });
  }).catch((error: unknown) => String(error));
  if (typeof result === 'string') return { failed: result };
  if (wrong !== null)
    return { failed: `${url} answered ${String(wrong)} instead of ${String(status)}` };
  if ((status !== undefined && result.errors > 0) || times.length === 0)
    return { failed: `${url}: ${result.errors} requests failed` };
  return {
    perSecond: (times.length * 1_000) / elapsed,
    p99Ms: percentile(times, 0.99),
    answers: times.length,
  };
}
