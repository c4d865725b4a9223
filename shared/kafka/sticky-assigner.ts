/**
 * The group protocol of our members: a sticky assignor, so that a new member moves few partitions.
 */
import kafkajs from 'kafkajs';

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;

/** The partitions of a member with their positions; -1 for an unknown one. */
export type Owned = ReadonlyMap<number, number>;

/** What a member says of itself when it joins. */
export function groupProtocol(topic: string, owned: Owned) {
  const userData = Buffer.from(JSON.stringify([...owned]));
  return {
    name: 'StoreDataSticky',
    metadata: MemberMetadata.encode({ version: 0, topics: [topic], userData }),
  };
}

/** The leader's answer: the partitions of each member. */
export function groupAssignment(
  topic: string,
  partitions: readonly number[],
  members: readonly { memberId: string; memberMetadata: Buffer }[],
) {
  const had = new Map(
    members.map(({ memberId, memberMetadata }) => [memberId, ownedIn(memberMetadata)]),
  );
  return [...dealOut(partitions, had)].map(([memberId, dealt]) => ({
    memberId,
    memberAssignment: MemberAssignment.encode({
      version: 0,
      assignment: { [topic]: dealt },
      userData: Buffer.alloc(0),
    }),
  }));
}

export function assignedIn(topic: string, assignment: Buffer): number[] {
  return MemberAssignment.decode(assignment)?.assignment[topic] ?? [];
}

function ownedIn(metadata: Buffer): Owned {
  const { userData } = MemberMetadata.decode(metadata) ?? {};
  return new Map(
    userData === undefined ? [] : (JSON.parse(userData.toString()) as [number, number][]),
  );
}

/**
 * Members differ by at most one partition. If two claim one, it stays with the member that applied
 * more of it.
 */
export function dealOut(
  partitions: readonly number[],
  had: ReadonlyMap<string, Owned>,
): Map<string, number[]> {
  const dealt = new Map(had.keys().map((member): [string, number[]] => [member, []]));
  const least = Math.floor(partitions.length / dealt.size);
  /** How many members have one more than the least. */
  let extras = partitions.length % dealt.size;
  const moving = partitions.filter((partition) => {
    const [owner] = [...had]
      .filter(([, owned]) => owned.has(partition))
      .toSorted(([, a], [, b]) => (b.get(partition) ?? 0) - (a.get(partition) ?? 0));
    const kept = dealt.get(owner?.[0] ?? '');
    if (kept === undefined || kept.length > least || (kept.length === least && extras === 0))
      return true;
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
