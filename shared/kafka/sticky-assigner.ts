/** A sticky assignor. kafkajs's own assigns by the order of member ids, so one new id moves most partitions. */
import kafkajs, { type PartitionAssigner } from 'kafkajs';

const { AssignerProtocol, PartitionAssigners } = kafkajs;
const { MemberAssignment, MemberMetadata } = AssignerProtocol;

/** The partitions of a member with their positions; -1 for an unknown one. */
export type Owned = ReadonlyMap<number, number>;

/** A group uses the first protocol that all members know. @param owned this member's present partitions. */
export function assigners(owned: () => Owned): PartitionAssigner[] {
  const sticky: PartitionAssigner = ({ cluster }) => ({
    name: 'StoreDataSticky',
    version: 0,
    protocol: ({ topics }) => ({
      name: 'StoreDataSticky',
      metadata: MemberMetadata.encode({ version: 0, topics, userData: Buffer.from(JSON.stringify([...owned()])) }),
    }),
    assign({ members, topics: [topic = ''] }) {
      const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
      const had = new Map(
        members.map(({ memberId, memberMetadata }): [string, Owned] => [memberId, ownedIn(memberMetadata)]),
      );
      const assignments = [...dealOut(partitions, had)].map(([memberId, dealt]) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({
          version: 0,
          assignment: { [topic]: dealt },
          userData: Buffer.alloc(0),
        }),
      }));
      return Promise.resolve(assignments);
    },
  });
  return [sticky, PartitionAssigners.roundRobin];
}

function ownedIn(metadata: Buffer): Owned {
  const { userData } = MemberMetadata.decode(metadata) ?? {};
  return new Map(userData === undefined ? [] : (JSON.parse(userData.toString()) as [number, number][]));
}

/** Members differ by at most one partition. If two claim one, it stays with the member that applied more of it. */
export function dealOut(partitions: readonly number[], had: ReadonlyMap<string, Owned>): Map<string, number[]> {
  const dealt = new Map(had.keys().map((member): [string, number[]] => [member, []]));
  const least = Math.floor(partitions.length / dealt.size);
  /** How many members have one more than the least. */
  let extras = partitions.length % dealt.size;
  const moving = partitions.filter((partition) => {
    const [owner] = [...had]
      .filter(([, owned]) => owned.has(partition))
      .toSorted(([, a], [, b]) => (b.get(partition) ?? 0) - (a.get(partition) ?? 0));
    const kept = dealt.get(owner?.[0] ?? '');
    if (kept === undefined || kept.length > least || (kept.length === least && extras === 0)) return true;
    if (kept.length === least) extras -= 1;
    kept.push(partition);
    return false;
  });
  for (const partition of moving) {
    const [fewest] = [...dealt.values()].toSorted((a, b) => a.length - b.length);
    fewest?.push(partition);
  }
  return dealt;
}
