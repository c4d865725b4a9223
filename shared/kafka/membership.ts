/**
 * Membership of a consumer group: it says which partitions are ours, and reads nothing. Heartbeats
 * go by a timer of their own, whatever a fetch or an event does. While the coordinator is away the
 * assignment stays: no other member can get one meanwhile.
 */
import { describeError, isRefusal, isUnavailable } from '../errors.ts';
import { countFailures, type Logger } from '../logging.ts';
import { pause } from '../waiting.ts';
import type { Broker, Cluster, Member } from './cluster.ts';
import type { Positions } from './positions.ts';
import { assignedIn, groupAssignment, groupProtocol } from './sticky-assigner.ts';

/** The pause before a coordinator is looked for again. */
const RETRY_MS = 250;
/** Four heartbeats fit into the session timeout. */
const HEARTBEATS = 4;

interface MembershipOptions {
  /** Connected, and for this membership alone, since joining a group blocks its connection. */
  cluster: Cluster;
  groupId: string;
  topic: string;
  sessionTimeoutMs: number;
  rebalanceTimeoutMs: number;
  /** The partitions that the leader deals out. A member joins again when there are more. */
  partitions: () => number[];
  /** Our partitions and positions, -1 for an unknown one: a new assignment keeps them. */
  owned: () => Positions;
  /** Called with each assignment; with an empty one as soon as the group no longer knows us. */
  assigned: (partitions: number[]) => void;
  /** Called whenever the coordinator has answered, and when it has not. */
  answered: (isAnswered: boolean) => void;
  /** Called with an error that no waiting helps against: it ends the membership. */
  failed: (error: unknown) => void;
  logger: Logger;
}

export interface Membership {
  /**
   * Resolves when a heartbeat sent after the call has confirmed the present assignment, or once the
   * signal is aborted.
   */
  confirmed: (signal: AbortSignal) => Promise<void>;
  /** Leaves the group. */
  stop: () => Promise<void>;
}

/** The group no longer knows us. */
const UNKNOWN_MEMBER = 'UNKNOWN_MEMBER_ID';
/** What the group says to a member that has to join again. */
const CHANGES = new Set<unknown>([UNKNOWN_MEMBER, 'REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION']);

export function joinGroup({
  cluster,
  groupId,
  topic,
  sessionTimeoutMs,
  rebalanceTimeoutMs,
  partitions,
  owned,
  assigned,
  answered,
  failed,
  logger,
}: MembershipOptions): Membership {
  const stopped = new AbortController();
  /** Ends the pause before the next heartbeat, or this membership. */
  let nudge = new AbortController();
  /** How many partitions there were when it joined. */
  let known = 0;
  let waiting: (() => void)[] = [];
  const silence = countFailures();
  let coordinator: Broker | null = null;
  let memberId = '';
  let member: Member | null = null;
  const committed = new Map<number, number>();

  /** Joins, and leads if it is chosen: the leader deals out the partitions. */
  async function join(): Promise<Member> {
    const began = performance.now();
    known = partitions().length;
    coordinator = await cluster.findGroupCoordinator({ groupId });
    const joined = await coordinator.joinGroup({
      groupId,
      memberId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      groupProtocols: [groupProtocol(topic, owned())],
    });
    memberId = joined.memberId;
    const { generationId } = joined;
    const isLeader = joined.leaderId === memberId;
    const { memberAssignment } = await coordinator.syncGroup({
      groupId,
      memberId,
      generationId,
      groupAssignment: isLeader ? groupAssignment(topic, partitions(), joined.members) : [],
    });
    noteAnswer();
    const ours = assignedIn(topic, memberAssignment);
    logger.info(
      { topic, partitions: ours, joinMs: Math.round(performance.now() - began) },
      'partitions are assigned',
    );
    if (!stopped.signal.aborted) assigned(ours);
    return { groupId, memberId, groupGenerationId: generationId };
  }

  /** Sends heartbeats until the group changes. @throws what ends this membership. */
  async function keep(own: Member): Promise<void> {
    for (;;) {
      await pause(sessionTimeoutMs / HEARTBEATS, AbortSignal.any([stopped.signal, nudge.signal]));
      nudge = new AbortController();
      if (stopped.signal.aborted || partitions().length > known) return;
      const confirmed = waiting;
      waiting = [];
      try {
        coordinator ??= await cluster.findGroupCoordinator({ groupId });
        await commit(coordinator, own);
        await coordinator.heartbeat(own);
        noteAnswer();
        for (const resolve of confirmed) resolve();
      } catch (error) {
        waiting.push(...confirmed);
        if (!isUnavailable(error)) throw error;
        // Another broker may coordinate the group by now: it has our membership.
        await waitAfter(error);
        nudge.abort();
      }
    }
  }

  /** For tools that show lag. Nothing depends on it. */
  async function commit(to: Broker, own: Member): Promise<void> {
    const moved = [...owned()].filter(
      ([partition, position]) => position >= 0 && committed.get(partition) !== position,
    );
    if (moved.length === 0) return;
    const offsets = moved.map(([partition, position]) => ({ partition, offset: String(position) }));
    try {
      await to.offsetCommit({ ...own, topics: [{ topic, partitions: offsets }] });
      for (const [partition, position] of moved) committed.set(partition, position);
    } catch (error) {
      logger.debug({ error: describeError(error) }, 'offsets not committed');
    }
  }

  function noteAnswer(): void {
    silence.end();
    answered(true);
  }

  async function waitAfter(error: unknown): Promise<void> {
    coordinator = null;
    answered(false);
    const failures = silence.failed(performance.now());
    const facts = { topic, ...failures, error: describeError(error) };
    if (failures !== null) logger.warn(facts, 'the coordinator of the group does not answer');
    await pause(RETRY_MS, stopped.signal);
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      try {
        member = await join();
        await keep(member);
      } catch (error) {
        const type = error instanceof Error && 'type' in error ? error.type : null;
        if (type === UNKNOWN_MEMBER) {
          memberId = '';
          assigned([]);
        }
        if (CHANGES.has(type))
          logger.info({ topic, error: describeError(error) }, 'joins the group again');
        // A right that is withdrawn from a member may be given back.
        else if (isUnavailable(error) || (member !== null && isRefusal(error)))
          await waitAfter(error);
        else if (!stopped.signal.aborted) return failed(error);
      }
    }
    if (coordinator === null || memberId === '') return;
    if (member !== null) await commit(coordinator, member);
    await coordinator.leaveGroup({ groupId, memberId }).catch(() => undefined);
  }

  const running = run();
  return {
    confirmed: (signal) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
        nudge.abort();
      }),
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}
