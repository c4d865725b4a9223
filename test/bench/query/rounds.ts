/** Measures one request on both sides. */
import { measureInTurn, summarize } from '../in-turn.ts';
import type { Load } from '../load/load.ts';
import type { Prepared } from './agreement.ts';
import type { QueryBenchOptions } from './options.ts';
import type { RowResult } from './result.ts';

const WARM_UP_SECONDS = 1;

export async function measure(
  load: Load,
  { request, bodyBytes, ours, usualWay }: Prepared,
  { connections, seconds, rounds }: Pick<QueryBenchOptions, 'connections' | 'seconds' | 'rounds'>,
): Promise<RowResult> {
  const options = { connections, seconds, rounds, warmUpSeconds: WARM_UP_SECONDS };
  const { other, ...result } = summarize(await measureInTurn(load, { ours, other: usualWay }, options));
  return {
    name: request.name,
    path: request.path,
    poll: request.poll,
    body_bytes: bodyBytes,
    usual_way: other,
    ...result,
  };
}
