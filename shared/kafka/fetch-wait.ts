/**
 * How long a broker may keep back the answer to a fetch that brings nothing. It answers at once when a message comes, so that the time
 * costs only what becomes fetchable meanwhile: a partition that was paused. Where none is, fetches may wait longer, which is most of
 * what an idle consumer costs; kafkajs has one time for all.
 */

/** What consumers of a topic say: for how long a fetch may wait now. */
const waits = new Map<string, Set<() => number>>();

/** Has fetches of a topic wait as long as the least patient consumer of this process allows. @returns what ends that. */
export function letFetchesWait(topic: string, waitMs: () => number): () => void {
  const ofTopic = waits.get(topic) ?? new Set();
  waits.set(topic, ofTopic.add(waitMs));
  return () => {
    ofTopic.delete(waitMs);
    if (ofTopic.size === 0 && waits.get(topic) === ofTopic) waits.delete(topic);
  };
}

/** For how long a fetch of some topics waits; as asked where nobody says anything. */
export function fetchWaitMs(topics: readonly { topic: string }[], askedMs: number): number {
  const said = topics.flatMap(({ topic }) => [...(waits.get(topic) ?? [])].map((waitMs) => waitMs()));
  return said.length === 0 ? askedMs : Math.max(askedMs, Math.min(...said));
}
