/**
 * One episode of the trial: a new installation, with rounds of adversarial events while projectors
 * are disturbed and read models rebuilt and rolled back. After each round all answers are compared
 * with the model.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Kafka } from 'kafkajs';
import { type Chance, chanceOf } from '#local/simulator/random.ts';
import { changesTopic, encodeEvent } from '#shared/events/topics.ts';
import { lettersIn } from '#shared/read-models/collections.ts';
import { findGenerations } from '#shared/read-models/generation.ts';
import { compareAnswers } from '#test/comparison.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation, type Installation, type RawMessage } from '#test/installation.ts';
import { Model } from '#test/model.ts';
import { startApp } from '#test/query-service.ts';
import { question } from '#test/questions.ts';
import { readLog } from '#test/read-log.ts';
import { caughtUp, erased, readModels } from '#test/read-models.ts';
import { stream, STREAM_IDS, STREAM_STORES, type StreamEvent } from '#test/streams.ts';
import { fetchTokens, publishKeys } from '#test/tokens.ts';
import { withAdmin } from '#test/topics.ts';
import { runProcess } from '../services/admin/run-command.ts';
import { startFollowers } from './changes-followers.ts';
import { startDisturbed } from './disturbance.ts';
import type { MongodbFaults } from './mongodb-faults.ts';
import { poison } from './poison.ts';
import type { Tally } from './tally.ts';
import { openTraffic } from './traffic.ts';

/** The header of messages that must become dead letters. */
const POISON = 'poison';
const QUESTIONS = 150;
/** Versions in a stream are 0 to 12: those of a round overlap and exceed earlier ones. */
const VERSIONS_A_ROUND = 4;
const PARTITIONS = 2;
/** For a busy machine. */
const CAUGHT_UP_LIMIT_MS = 240_000;

export interface EpisodeOptions {
  seed: number;
  /** The number of the last rounds, before which the topic gets more partitions. */
  rounds: number;
  isOver: () => boolean;
  say: (line: string) => void;
  mongodb: MongodbFaults | null;
}

/** Runs one episode and adds to the tally. @throws at the first difference. */
export async function playEpisode(options: EpisodeOptions, tally: Tally): Promise<void> {
  const installation = await createInstallation({
    partitions: PARTITIONS,
    settings: {
      KAFKA_SESSION_TIMEOUT_MS: '1500',
      PROJECTOR_SLICE_EVENTS: '40',
      LOG_LEVEL: 'info',
      TOKEN_LIFETIME_SECONDS: '3600',
    },
  });
  const projectors = startDisturbed(installation.env, tally, options.mongodb);
  try {
    await play(options, tally, installation, projectors);
  } catch (error) {
    options.say(projectors.lastLines());
    throw error;
  } finally {
    await projectors.stop();
    await installation.close();
  }
}

async function play(
  { seed, rounds, isOver }: EpisodeOptions,
  tally: Tally,
  installation: Installation,
  projectors: ReturnType<typeof startDisturbed>,
): Promise<void> {
  const { environment, config, databases } = installation;
  const topic = changesTopic(environment);
  const model = new Model();
  const allApplied = () => caughtUp(installation, environment, CAUGHT_UP_LIMIT_MS);
  const keys = await publishKeys(installation, STREAM_STORES);
  await allApplied();
  await using service = await startApp({ ...config, logLevel: 'silent' });
  const tokens = await fetchTokens(service.url, keys);
  const followers = startFollowers(service.api, tokens);

  const playRound = async (round: number) => {
    const over = new AbortController();
    const disturbing = projectors.disturb(seed, round, over.signal);
    const following = followers.followAlong(over.signal);
    try {
      // After that a store's history is in two partitions, whose order a rebuild does not keep.
      const commands = round < rounds ? operate(round) : null;
      await Promise.race([Promise.all([publish(round), commands]), failure(following)]);
    } finally {
      over.abort();
      await Promise.all([disturbing, following]);
    }
    await allApplied();
    const questions = fc.sample(question, { seed: seed * 31 + round, numRuns: QUESTIONS });
    const compared = await compareAnswers(model, service.api, tokens, questions);
    // The feed may deliver erased orders and reviews later, in pieces.
    await erased(installation, environment, CAUGHT_UP_LIMIT_MS);
    tally.copies += await followers.compare(model);
    await compareDeadLetters();
    tally.answers += compared.answers;
    tally.found += compared.found;
    tally.rounds += 1;
  };

  /** The messages of a round, in order; applies valid events to the model. */
  const messagesOf = (round: number): RawMessage[] => {
    const [events = []] = fc.sample(stream, { seed: seed * 37 + round, numRuns: 1 });
    const chance = chanceOf(seed, ['messages', round]);
    const wiped = chance.datatype.boolean(0.3) ? wipe(chance) : [];
    return [...events, ...wiped].flatMap((event) => {
      const moved = { ...event, sequence: event.sequence + round * VERSIONS_A_ROUND };
      model.apply(moved);
      tally.events += 1;
      const message = encodeEvent({ source: '/test', ...moved });
      if (!chance.datatype.boolean(0.05)) return [message];
      tally.poison += 1;
      const bad = poison(chance, event.storeId);
      return [{ ...bad, headers: { ...bad.headers, [POISON]: 'yes' } }, message];
    });
  };

  /** Publishes in parts, so that faults meet slices of all sizes. */
  const publish = async (round: number) => {
    const messages = messagesOf(round);
    const traffic = await openTraffic(installation, tally);
    try {
      for (let turn = 0; messages.length > 0; turn += 1) {
        const chance = chanceOf(seed, ['piece', round, turn]);
        await traffic.send(chance, messages.splice(0, chance.number.int({ min: 1, max: 80 })));
        await sleep(chance.number.int({ max: 800 }));
      }
    } finally {
      await traffic.close();
    }
  };

  /** Rebuilds read models, or rolls back, during all other activity. */
  const operate = async (round: number) => {
    const command = chanceOf(seed, ['command', round]).helpers.arrayElement([
      'rebuild',
      'rebuild',
      'rollback',
      'none',
      'none',
    ]);
    const known = await findGenerations(databases, environment);
    const kept = known.filter(({ state }) => state === 'kept');
    if (command === 'rebuild') {
      for (const { number } of kept) await admin(`generations drop ${number} --yes`);
      await admin('rebuild --share 100');
      tally.rebuilds += 1;
    } else if (command === 'rollback' && kept.length > 0) {
      // It catches up later: `caughtUp` waits for it.
      await admin('rollback --force');
      tally.rollbacks += 1;
    }
  };

  /** The dead letters are of the poison in the log, which a source may have sent twice. */
  const compareDeadLetters = async () => {
    const offsets = (of: readonly { offset: string | number }[]) =>
      of.map(({ offset }) => Number(offset)).toSorted((a, b) => a - b);
    const log = await readLog(installation, topic);
    const letters = lettersIn(await readModels(installation));
    deepStrictEqual(
      offsets(await letters.find().toArray()),
      offsets(log.filter(({ headers = {} }) => POISON in headers)),
    );
  };

  /**
   * Runs a command, and repeats it after a timeout like an operator, since processes are frozen and
   * the machine is busy.
   * @throws with its output if it fails.
   */
  const admin = async (command: string, again = 3): Promise<void> => {
    const { code, stdout, stderr } = await runProcess(installation.env, command, {
      program: new URL('store-data.ts', import.meta.url).pathname,
    });
    if (code === 0) return;
    if (again > 0 && stderr.includes('a server cannot be reached'))
      return admin(command, again - 1);
    throw new Error(`store-data ${command} ended with ${code}: ${stdout}${stderr}`);
  };

  // A busy machine runs at least one round, too.
  for (let round = 0; round < rounds && (round === 0 || !isOver()); round += 1)
    await playRound(round);
  await admin('verify --deep');
  // No backlog is allowed: events of a store in two partitions could be applied out of order.
  await growTopic(installation.kafka, topic);
  tally.topicsGrown += 1;
  await playRound(rounds);
  await admin('verify');
}

async function growTopic(kafka: Kafka, topic: string): Promise<void> {
  const count = PARTITIONS + 3;
  await withAdmin(kafka, async (admin) => {
    await admin.createPartitions({ topicPartitions: [{ topic, count }] });
    await eventually(`${topic} has ${count} partitions`, async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      const partitions = topics[0]?.partitions ?? [];
      return partitions.length === count && partitions.every(({ leader }) => leader >= 0);
    });
  });
}

/** Rejects if a background activity rejects. */
async function failure(going: Promise<void>): Promise<never> {
  await going;
  return new Promise(() => undefined);
}

/** Deletes all records of a store of the streams. */
function wipe(chance: Chance): StreamEvent[] {
  const storeId = chance.helpers.arrayElement(STREAM_STORES);
  return Object.entries(STREAM_IDS).flatMap(([entity, ids]) =>
    ids.map((subject): StreamEvent => ({
      entity,
      storeId,
      subject,
      sequence: 13,
      action: 'deleted',
    })),
  );
}
