/**
 * One episode of the trial: a new installation, with rounds of adversarial events while projectors
 * are disturbed and read models rebuilt and rolled back. After each round all answers are compared
 * with the model.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { type Chance, chanceOf } from '#local/simulator/random.ts';
import { changesTopic, encodeEvent } from '#shared/events/topics.ts';
import { lettersIn } from '#shared/read-models/collections.ts';
import { findGenerations } from '#shared/read-models/generation.ts';
import { compareAnswers, publishKeys, takeTokens } from '#test/comparison.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation, type Installation, type RawMessage } from '#test/installation.ts';
import { Model } from '#test/model.ts';
import { type RunningApp, startApp } from '#test/query-service.ts';
import { question } from '#test/questions.ts';
import { readLog } from '#test/read-log.ts';
import { caughtUp, erased, readModels } from '#test/read-models.ts';
import { stream, STREAM_IDS, STREAM_STORES, type StreamEvent } from '#test/streams.ts';
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

/** The options of questions in a round. */
interface Asked {
  service: RunningApp;
  tokens: ReadonlyMap<string, string>;
  followers: ReturnType<typeof startFollowers>;
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
  const episode = new Episode(options, tally, installation, projectors);
  try {
    await episode.play();
  } catch (error) {
    options.say(projectors.lastLines());
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
  readonly #topic: string;
  readonly #projectors: ReturnType<typeof startDisturbed>;
  readonly #model = new Model();

  constructor(
    options: EpisodeOptions,
    tally: Tally,
    installation: Installation,
    projectors: ReturnType<typeof startDisturbed>,
  ) {
    this.#options = options;
    this.#tally = tally;
    this.#installation = installation;
    this.#topic = changesTopic(installation.environment);
    this.#projectors = projectors;
  }

  async play(): Promise<void> {
    const { environment, config } = this.#installation;
    const { rounds, isOver } = this.#options;
    await publishKeys(this.#installation, environment);
    await this.#caughtUp();
    await using service = await startApp({ ...config, logLevel: 'silent' });
    const tokens = await takeTokens(service.api, environment);
    const asked = { service, tokens, followers: startFollowers(service.api, tokens) };
    // A busy machine runs at least one round, too.
    for (let round = 0; round < rounds && (round === 0 || !isOver()); round += 1)
      await this.#round(round, asked);
    await this.#admin('verify --deep');
    // No backlog is allowed: events of a store in two partitions could be applied out of order.
    await this.#growTopic();
    await this.#round(rounds, asked);
    await this.#admin('verify');
  }

  #caughtUp(): Promise<void> {
    return caughtUp(this.#installation, this.#installation.environment, CAUGHT_UP_LIMIT_MS);
  }

  async #round(round: number, { service, tokens, followers }: Asked): Promise<void> {
    const { seed, rounds } = this.#options;
    const over = new AbortController();
    const disturbing = this.#projectors.disturb(seed, round, over.signal);
    const following = followers.followAlong(over.signal);
    try {
      // After that a store's history is in two partitions, whose order a rebuild does not keep.
      const commands = round < rounds ? this.#operate(round) : null;
      await Promise.race([Promise.all([this.#publish(round), commands]), failure(following)]);
    } finally {
      over.abort();
      await Promise.all([disturbing, following]);
    }
    await this.#caughtUp();
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
    const wiped = chance.datatype.boolean(0.3) ? wipe(chance) : [];
    return [...events, ...wiped].flatMap((event) => {
      const moved = { ...event, sequence: event.sequence + round * VERSIONS_A_ROUND };
      this.#model.apply(moved);
      this.#tally.events += 1;
      const message = encodeEvent({ source: '/test', ...moved });
      if (!chance.datatype.boolean(0.05)) return [message];
      this.#tally.poison += 1;
      const bad = poison(chance, event.storeId);
      return [{ ...bad, headers: { ...bad.headers, [POISON]: 'yes' } }, message];
    });
  }

  /** Publishes in parts, so that faults meet slices of all sizes. */
  async #publish(round: number): Promise<void> {
    const messages = this.#messages(round);
    const traffic = await openTraffic(this.#installation, this.#tally);
    try {
      for (let turn = 0; messages.length > 0; turn += 1) {
        const chance = chanceOf(this.#options.seed, ['piece', round, turn]);
        await traffic.send(chance, messages.splice(0, chance.number.int({ min: 1, max: 80 })));
        await sleep(chance.number.int({ max: 800 }));
      }
    } finally {
      await traffic.close();
    }
  }

  /** Rebuilds read models, or rolls back, during all other activity. */
  async #operate(round: number): Promise<void> {
    const { databases, environment } = this.#installation;
    const command = chanceOf(this.#options.seed, ['command', round]).helpers.arrayElement([
      'rebuild',
      'rebuild',
      'rollback',
      'none',
      'none',
    ]);
    const known = await findGenerations(databases, environment);
    const kept = known.filter(({ state }) => state === 'kept');
    if (command === 'rebuild') {
      for (const { number } of kept) await this.#admin(`generations drop ${number} --yes`);
      await this.#admin('rebuild --share 100');
      this.#tally.rebuilds += 1;
    } else if (command === 'rollback' && kept.length > 0) {
      // It catches up later: `caughtUp` waits for it.
      await this.#admin('rollback --force');
      this.#tally.rollbacks += 1;
    }
  }

  /** The dead letters are of the poison in the log, which a source may have sent twice. */
  async #compareDeadLetters(): Promise<void> {
    const offsets = (of: readonly { offset: string | number }[]) =>
      of.map(({ offset }) => Number(offset)).toSorted((a, b) => a - b);
    const log = await readLog(this.#installation, this.#topic);
    const letters = lettersIn(await readModels(this.#installation));
    deepStrictEqual(
      offsets(await letters.find().toArray()),
      offsets(log.filter(({ headers = {} }) => POISON in headers)),
    );
  }

  async #growTopic(): Promise<void> {
    const [topic, count] = [this.#topic, PARTITIONS + 3];
    await withAdmin(this.#installation.kafka, async (admin) => {
      await admin.createPartitions({ topicPartitions: [{ topic, count }] });
      await eventually(`${topic} has ${count} partitions`, async () => {
        const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
        const partitions = topics[0]?.partitions ?? [];
        return partitions.length === count && partitions.every(({ leader }) => leader >= 0);
      });
    });
    this.#tally.topicsGrown += 1;
  }

  /**
   * Runs a command, and repeats it after a timeout like an operator, since processes are frozen and the machine is busy.
   * @throws with its output if it fails.
   */
  async #admin(command: string, again = 3): Promise<void> {
    const { code, stdout, stderr } = await runProcess(this.#installation.env, command, {
      program: new URL('store-data.ts', import.meta.url).pathname,
    });
    if (code === 0) return;
    if (again > 0 && stderr.includes('a server cannot be reached'))
      return this.#admin(command, again - 1);
    throw new Error(`store-data ${command} ended with ${code}: ${stdout}${stderr}`);
  }
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
