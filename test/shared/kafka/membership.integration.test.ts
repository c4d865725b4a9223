/** Membership of a group, without reading anything. */
import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { createKafka } from '#shared/kafka/client.ts';
import { createCluster } from '#shared/kafka/cluster.ts';
import { joinGroup } from '#shared/kafka/membership.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { createLogger } from '#shared/logging.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { withAdmin } from '#test/topics.ts';

const installation = useInstallation({ partitions: 4 });

/** A member of a group, and its assignments. */
async function join(groupId: string, { sessionTimeoutMs } = installation.config.kafka) {
  const { config, environment } = installation;
  const topic = changesTopic(environment);
  const logger = createLogger('test', 'silent');
  const cluster = createCluster(createKafka(config, 'test', logger));
  await cluster.connect();
  await cluster.addTargetTopic(topic);
  const assignments: number[][] = [];
  const failures: unknown[] = [];
  const member = joinGroup({
    cluster,
    groupId,
    topic,
    sessionTimeoutMs,
    rebalanceTimeoutMs: 10_000,
    partitions: () => [0, 1, 2, 3],
    owned: () => new Map((assignments.at(-1) ?? []).map((partition) => [partition, 17])),
    assigned: (partitions) => void assignments.push(partitions.toSorted((a, b) => a - b)),
    answered: () => undefined,
    failed: (error) => failures.push(error),
    logger,
  });
  onTestFinished(async () => {
    await member.stop();
    await cluster.disconnect();
  });
  return { member, assignments, failures, topic };
}

it('members that join and leave get their assignment at once, and each keeps what it can', async () => {
  const groupId = randomUUID();
  const first = await join(groupId);
  await eventually('it has all', () => first.assignments.at(-1)?.length === 4);
  const second = await join(groupId);
  await eventually('both have half', () => second.assignments.at(-1)?.length === 2);
  const half = first.assignments.at(-1) ?? [];
  expect([...half, ...(second.assignments.at(-1) ?? [])].toSorted((a, b) => a - b)).toEqual([
    0, 1, 2, 3,
  ]);
  await second.member.stop();
  await eventually('the first has all again', () => first.assignments.at(-1)?.length === 4);
});

it('a member gets an empty assignment as soon as the group no longer knows it, and joins again', async () => {
  const groupId = randomUUID();
  const { member, assignments, topic } = await join(groupId);
  await eventually('it has joined', () => assignments.length === 1);
  await member.confirmed(new AbortController().signal);
  const committed = await withAdmin(installation.kafka, async (admin) => {
    const [offsets] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return offsets?.partitions.map(({ offset }) => offset);
  });
  expect(committed).toEqual(['17', '17', '17', '17']);

  const { members } = await withAdmin(installation.kafka, async (admin) => {
    const { groups } = await admin.describeGroups([groupId]);
    return groups[0] ?? { members: [] };
  });
  const cluster = createCluster(installation.kafka);
  await cluster.connect();
  await cluster.addTargetTopic(topic);
  const coordinator = await cluster.findGroupCoordinator({ groupId });
  for (const { memberId } of members) await coordinator.leaveGroup({ groupId, memberId });
  await cluster.disconnect();
  await eventually('it was lost and has joined', () => assignments.length === 3);
  expect(assignments).toEqual([[0, 1, 2, 3], [], [0, 1, 2, 3]]);
});

it('what no waiting helps against ends the membership, and is reported', async () => {
  const kafka = { ...installation.config.kafka, sessionTimeoutMs: 1 };
  const { failures } = await join(randomUUID(), kafka);
  await eventually('it has failed', () => failures.length > 0);
  expect(failures).toMatchObject([{ type: 'INVALID_SESSION_TIMEOUT' }]);
});
