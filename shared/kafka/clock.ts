/**
 * Notices that the wall clock was set back. kafkajs measures the time since its last heartbeat by it, and would send none until the clock
 * has caught up: the group gives the partitions away, and this member does not notice.
 */

const MAX_LOOK_MS = 1_000;

/**
 * Calls `setBack` once the clock goes back by more than `toleratedMs` at once.
 * @returns a function that ends the watching.
 */
export function watchClock(toleratedMs: number, setBack: (byMs: number) => void): () => void {
  let ahead = Date.now() - performance.now();
  const look = () => {
    const now = Date.now() - performance.now();
    if (ahead - now > toleratedMs) setBack(Math.round(ahead - now));
    ahead = now;
  };
  const looking = setInterval(look, Math.min(toleratedMs / 3, MAX_LOOK_MS)).unref();
  return () => clearInterval(looking);
}
