/** What a node of a cluster says in `CLUSTER NODES`: of itself, which counts, and of which others it knows. */
import type { RedisNode } from '../redis-address.ts';

export interface ToldByNode {
  id: string;
  /** What it says to hold; `null` where it is no master. */
  claim: Claim | null;
  /** All nodes that it knows, by their ids; itself only where it knows its own address. */
  nodes: ReadonlyMap<string, RedisNode>;
}

export interface Claim {
  /** Of two that claim a slot the one with the higher epoch has it. */
  epoch: number;
  ranges: readonly (readonly [first: number, last: number])[];
}

const LINE =
  /^(?<id>\S+) (?<host>\S*):(?<port>\d+)(?:@\d+)?(?:,(?<name>[^\s,]*)\S*)? (?<flags>\S+) \S+ \S+ \S+ (?<epoch>\d+) \S+(?<slots>.*)$/;

/** @throws where it is no such answer. */
export function readClusterNodes(text: string): ToldByNode {
  const nodes = new Map<string, RedisNode>();
  let told: Pick<ToldByNode, 'id' | 'claim'> | null = null;
  for (const line of text.split('\n')) {
    const {
      id = '',
      host = '',
      port,
      name = '',
      flags = '',
      epoch,
      slots = '',
    } = LINE.exec(line)?.groups ?? {};
    const is = (flag: string) => flags.split(',').includes(flag);
    if (is('myself')) {
      told = { id, claim: is('master') ? { epoch: Number(epoch), ranges: rangesIn(slots) } : null };
    }
    // A name is announced for those who are to use it, as a certificate may ask for.
    if ((name || host) !== '' && !is('noaddr') && !is('handshake')) {
      nodes.set(id, { host: name || host, port: Number(port) });
    }
  }
  if (told === null) throw new Error('what answers is no node of a Redis cluster');
  return { ...told, nodes };
}

/** Without those that move just now, which stand in brackets: as long as they do, the owner is who it was. */
function rangesIn(slots: string): [number, number][] {
  return [...slots.matchAll(/ (\d+)(?:-(\d+))?(?= |$)/g)].map(([, first, last = first]) => [
    Number(first),
    Number(last),
  ]);
}
