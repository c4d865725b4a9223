/** Waiting until what was published has arrived: keys in Redis, history in the read models. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProjectorState, ProjectorWatch } from './projector-watch.ts';

const POLL_MS = 100;
/** A projector that was started again has lost some of its counts; so long without a lag, all has arrived just the same. */
const IDLE_MS = 3_000;

/** Looks at the projector until `isDone`, or until `isIdle` has been true for a while. */
export async function awaitProjector(
  watch: ProjectorWatch,
  stopping: AbortSignal,
  { isDone, isIdle }: Record<'isDone' | 'isIdle', (state: ProjectorState) => boolean>,
): Promise<void> {
  let idleSince: number | null = null;
  for (;;) {
    const state = await watch.look();
    if (state !== null) {
      if (isDone(state)) return;
      idleSince = isIdle(state) ? (idleSince ?? Date.now()) : null;
      if (idleSince !== null && Date.now() - idleSince > IDLE_MS) return;
    }
    await sleep(POLL_MS, undefined, { signal: stopping });
  }
}
