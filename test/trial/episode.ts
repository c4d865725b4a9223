/**
 * One episode of the trial: a new installation, with rounds of adversarial events while projectors
 * are disturbed and read models rebuilt and rolled back. After each round all answers are compared
 * with the model.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { type Chance, chanceOf } from '#local/simulator/random.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { findGenerations } from '#shared/read-models/generation.ts';
import { messagesOf, withMessage } from '#admin/dead-letters/messages.ts';
import { Servers } from '#admin/servers.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import { type DeadLetter, lettersIn } from '#shared/read-models/collections.ts';
import { compareAnswers, publishKeys, takeTokens } from '#test/comparison.ts';
import { createInstallation, type Installation, type RawMessage } from '#test/installation.ts';
import { Model } from '#test/model.ts';
import { type RunningApp, startApp } from '#test/query-service.ts';
import { question } from '#test/questions.ts';
import { caughtUp, erased, readModels } from '#test/read-models.ts';
import { stream, STREAM_IDS, STREAM_STORES, type StreamEvent } from '#test/streams.ts';
import { withAdmin } from '#test/topics.ts';
import { runProcess } from '../services/admin/run-command.ts';
import { ChangesFollowers } from './changes-followers.ts';
import { DisturbedProjectors } from './disturbance.ts';
import type { MongodbFaults } from './mongodb-faults.ts';
import { poison } from './poison.ts';
import type { Tally } from './tally.ts';
import { inSomeForm, Traffic, untilPartitions } from './traffic.ts';

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

/** The options of questions in a round. */
interface Asked {
  service: RunningApp;
  tokens: ReadonlyMap<string, string>;
  followers: ChangesFollowers;
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
  const projectors = new DisturbedProjectors(installation.env, tally, options.mongodb);
  const episode = new Episode(options, tally, installation, projectors);
  try {
    await episode.play();
  } catch (error) {
    for (const line of projectors.lastLines()) options.say(line);
    throw error;
  } finally {
    await projectors.stop();
    await installation.close();
  }
}

class Episode {
  readonly #options: EpisodeOptions;
  readonly #tally: Tally;
  readonly #installation: Installation;
  readonly #projectors: DisturbedProjectors;
  readonly #model = new Model();
  /** The number of sent poison messages. */
  #poison = 0;
  /** Expected dead letters of record batches, as `<partition>/<offset>`. */
  readonly #poisonBatches = new Set<string>();

  constructor(
    options: EpisodeOptions,
    tally: Tally,
    installation: Installation,
    projectors: DisturbedProjectors,
  ) {
    this.#options = options;
    this.#tally = tally;
    this.#installation = installation;
    this.#projectors = projectors;
  }

  async play(): Promise<void> {
    const { environment, config } = this.#installation;
    const { rounds, isOver } = this.#options;
    await publishKeys(this.#installation, environment);
    this.#projectors.start(2);
    await caughtUp(this.#installation, environment, CAUGHT_UP_LIMIT_MS);
    const service = await startApp({ ...config, logLevel: 'silent' });
    try {
      const tokens = await takeTokens(service.api, environment);
      const asked = { service, tokens, followers: new ChangesFollowers(service.api, tokens) };
      // A busy machine runs at least one round, too.
      for (let round = 0; round < rounds && (round === 0 || !isOver()); round += 1) {
        await this.#round(round, asked);
      }
      await this.#verify(['--deep']);
      // No backlog is allowed: events of a store in two partitions could be applied out of order.
      await this.#growTopic();
      await this.#round(rounds, asked);
      await this.#verify([]);
    } finally {
      await service.app.close();
    }
  }

  async #round(round: number, { service, tokens, followers }: Asked): Promise<void> {
    const { seed } = this.#options;
    const messages = this.#messages(round);
    const over = new AbortController();
    const disturbing = this.#projectors.disturb(seed, round, over.signal);
    const following = followers.followAlong(over.signal);
    try {
      // After that a store's history is in two partitions, whose order a rebuild does not keep.
      const commands = round < this.#options.rounds ? this.#operate(round) : Promise.resolve();
      await Promise.race([
        Promise.all([this.#publish(round, messages), commands]),
        failure(following),
      ]);
    } finally {
      over.abort();
      await Promise.all([disturbing, following]);
    }
    await caughtUp(this.#installation, this.#installation.environment, CAUGHT_UP_LIMIT_MS);
    const questions = fc.sample(question, { seed: seed * 31 + round, numRuns: QUESTIONS });
    const compared = await compareAnswers(this.#model, service.api, tokens, questions);
    // The feed may deliver erased orders and reviews later, in pieces.
    await erased(this.#installation, this.#installation.environment, CAUGHT_UP_LIMIT_MS);
    this.#tally.copies += await followers.compare(this.#model);
    await this.#compareDeadLetters();
    this.#tally.answers += compared.answers;
    this.#tally.found += compared.found;
    this.#tally.rounds += 1;
  }

  /** The messages of a round, in order; applies valid events to the model. */
  #messages(round: number): RawMessage[] {
    const { seed } = this.#options;
    const [events = []] = fc.sample(stream, { seed: seed * 37 + round, numRuns: 1 });
    const chance = chanceOf(seed, ['messages', round]);
    const wiped = chance.datatype.boolean({ probability: 0.3 }) ? wipe(chance) : [];
    return [...events, ...wiped].flatMap((event) => {
      const moved = { ...event, sequence: event.sequence + round * VERSIONS_A_ROUND };
      this.#model.apply(moved);
      this.#tally.events += 1;
      const message = inSomeForm(chance, moved);
      if (!chance.datatype.boolean({ probability: 0.05 })) return [message];
      this.#tally.poison += 1;
      this.#poison += 1;
      return [numbered(poison(chance, event.storeId), this.#poison), message];
    });
  }

  /** Publishes in parts, so that faults meet slices of all sizes. */
  async #publish(round: number, messages: readonly RawMessage[]): Promise<void> {
    const traffic = new Traffic(this.#installation, this.#tally, this.#poisonBatches);
    await traffic.open();
    try {
      for (let start = 0, turn = 0; start < messages.length; turn += 1) {
        const chance = chanceOf(this.#options.seed, ['piece', round, turn]);
        const most = Math.max(1, messages.length - 1 - start);
        const count = chance.number.int({ min: 1, max: Math.min(80, most) });
        await traffic.send(chance, messages.slice(start, start + count));
        start += count;
        await sleep(chance.number.int({ max: 800 }));
      }
    } finally {
      await traffic.close();
    }
  }

  /** Rebuilds read models, or rolls back, during all other activity. */
  async #operate(round: number): Promise<void> {
    const command = chanceOf(this.#options.seed, ['command', round]).helpers.weightedArrayElement([
      { weight: 2, value: 'rebuild' },
      { weight: 1, value: 'rollback' },
      { weight: 2, value: 'none' },
    ] as const);
    const known = await findGenerations(
      this.#installation.databases,
      this.#installation.environment,
    );
    const kept = known.filter(({ state }) => state === 'kept');
    if (command === 'rebuild') {
      for (const { number } of kept)
        await this.#admin(['generations', 'drop', String(number), '--yes']);
      await this.#admin(['rebuild', '--share', '100']);
      this.#tally.rebuilds += 1;
    } else if (command === 'rollback' && kept.length > 0) {
      // It catches up later: `caughtUp` waits for it.
      await this.#admin(['rollback', '--force']);
      this.#tally.rollbacks += 1;
    }
  }

  async #compareDeadLetters(): Promise<void> {
    const db = await readModels(this.#installation);
    const letters = await this.#withHeaders(
      await lettersIn(db)
        .find({}, { sort: { partition: 1, offset: 1 } })
        .toArray(),
    );
    const batches = letters.filter(({ reason }) => reason === 'unreadable');
    deepStrictEqual(
      batches.map(({ partition, offset }) => `${partition}/${offset}`).toSorted(),
      [...this.#poisonBatches].toSorted(),
    );
    // A source with a slow broker sends again, which duplicates messages.
    const found = new Set(
      letters.filter((letter) => !batches.includes(letter)).map(({ headers }) => numberIn(headers)),
    );
    if (found.size !== this.#poison || found.has(undefined)) {
      throw new Error(
        `${this.#poison} poison messages were sent, and dead letters are there of ${found.size}, ${found.has(undefined) ? 'one of a message that was aborted or applied' : 'each of which was sent'}`,
      );
    }
  }

  /** Letters that a deletion emptied, with the headers that Kafka has. */
  async #withHeaders(letters: readonly DeadLetter[]): Promise<DeadLetter[]> {
    const emptied = letters.filter(
      ({ headers, gathered }) => headers.length === 0 && gathered === undefined,
    );
    const servers = new Servers({ config: this.#installation.config, origin: 'the trial' });
    const messages = new Map<string, LogMessage[]>();
    try {
      for (const [partition, group] of Map.groupBy(emptied, (letter) => letter.partition)) {
        const reader = await servers.logReader(changesTopic(this.#installation.environment));
        for (const [id, found] of await messagesOf(reader, group)) messages.set(id, found);
        if (group.some(({ _id }) => !messages.has(_id)))
          throw new Error(`partition ${partition} lacks a message`);
      }
    } finally {
      await servers.close();
    }
    return letters.map((letter) => {
      const [message] = messages.get(letter._id) ?? [];
      return message === undefined ? letter : withMessage(letter, message);
    });
  }

  async #growTopic(): Promise<void> {
    const topic = changesTopic(this.#installation.environment);
    const topicPartitions = [{ topic, count: PARTITIONS + 3 }];
    await withAdmin(this.#installation.kafka, (admin) =>
      admin.createPartitions({ topicPartitions }),
    );
    await untilPartitions(this.#installation, topic, PARTITIONS + 3);
    this.#tally.topicsGrown += 1;
  }

  async #verify(options: string[]): Promise<void> {
    await this.#admin(['verify', ...options]);
  }

  /**
   * Runs a command, and repeats it after a timeout like an operator, since processes are frozen and the machine is busy.
   * @throws with its output if it fails.
   */
  async #admin(args: string[], again = 3): Promise<{ stdout: string }> {
    const { code, stdout, stderr } = await runProcess(this.#installation.env, args, {
      program: new URL('store-data.ts', import.meta.url).pathname,
    });
    if (code !== 0 && again > 0 && stderr.includes('a server cannot be reached'))
      return this.#admin(args, again - 1);
    if (code !== 0)
      throw new Error(`store-data ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`);
    return { stdout };
  }
}

const NUMBER = 'number';

/** A message that differs from others with the same content. */
function numbered(message: RawMessage, number: number): RawMessage {
  return { ...message, headers: { ...message.headers, [NUMBER]: String(number) } };
}

function numberIn(headers: DeadLetter['headers']): string | undefined {
  return headers.find(({ name }) => name === NUMBER)?.value.toString('utf8');
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
