/**
 * Notices that the wall clock was set back: kafkajs tells by it how long ago the last heartbeat was, and sends none until the clock has
 * come there again. The group would give the partitions away, and this member would never hear of it.
 */

const MAX_LOOK_MS = 1_000;

/**
 * Calls `setBack` once the clock goes back by more than `toleratedMs` at once.
 * @returns what ends the watching.
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
