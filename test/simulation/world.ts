/**
 * One history of a world of projectors, publishers, operators and followers, with faults determined
 * by the seed.
 */
import { MongoError } from 'mongodb';
import { CHECKPOINTS, REWRITINGS } from '#shared/read-models/collections.ts';
import { KEPT_EPOCHS } from '#shared/read-models/feed-epochs.ts';
import { encodeEvent } from '#shared/events/topics.ts';
import { MINIMAL } from '#test/changes.ts';
import { withSmallErasures } from '#test/small-erasures.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { Follower, recordsOf } from './follower.ts';
import { Invariants, NAME, Violation } from './invariants.ts';
import { type Entry, PartitionLog } from './log.ts';
import { Projector, type WorldOfProjectors } from './projector.ts';
import { retryLetter } from './operator.ts';
import { Random } from '../../deploy/testing/random.ts';
import { type Host, Scheduler } from './scheduler.ts';
import { docsOf, Server, type Session, type State } from './store.ts';

const STORES = ['s1', 's2', 's3'];
/** The session timeout of the group. */
const SESSION_MS = 1_500;
/**
 * The limit for catching up after the last fault. MongoDB itself ends a killed client's transaction
 * only later.
 */
const QUIET_MS = 45_000;
const LIVE = 'g1';
const NEXT = 'g2';

const KINDS = ['store', 'order', 'customer', 'review', 'category', 'product'] as const;
type Kind = (typeof KINDS)[number];
/** 2026-11-20, noon. */
const NOON_MS = 1_795_176_000_000;

export interface History {
  seed: number;
  steps: number;
  trace: readonly string[];
  /** `null` if every promise was kept. */
  violation: Error | null;
}

/**
 * The number of actions before the quiet end. Three of four histories are short, about 200 steps,
 * which suffices for most mistakes.
 */
export const actionsOf = (seed: number) => (seed % 4 < 3 ? 16 : 60);

/** Runs a history, or its beginning. */
export async function runHistory(seed: number, actions = actionsOf(seed)): Promise<History> {
  const undo = [withSmallTrees(3, 3), withSmallErasures(), withFewEpochs(seed % 8 < 4 ? 2 : 64)];
  const world = new World(seed, seed % 4 < 2 ? 1 : 2);
  let violation: Error | null = null;
  try {
    await world.run(actions);
  } catch (error) {
    violation = error instanceof Error ? error : new Error(String(error));
  } finally {
    for (const one of undo) one();
  }
  return { seed, steps: world.scheduler.steps, trace: world.lines, violation };
}

/** @returns a function that restores the limits. */
function withFewEpochs(max: number): () => void {
  const before = { ...KEPT_EPOCHS };
  Object.assign(KEPT_EPOCHS, { max });
  return () => void Object.assign(KEPT_EPOCHS, before);
}

class World implements WorldOfProjectors {
  readonly lines: string[] = [];
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly logs: PartitionLog[];
  readonly leaders: (number | null)[];
  faultChance: number;
  readonly #server: Server;
  readonly #invariants: Invariants;
  /** Published messages by partition. */
  readonly #history: Entry[][];
  readonly #skips = new Map<string, number>();
  #projectors: Projector[] = [];
  #named = 0;
  #sequence = 0;
  #rebalances = 0;
  /** The last assignment that each projector has received. */
  readonly #heard = new Map<Projector, number>();
  #generations = [LIVE];
  #answering = LIVE;
  #backup: State | null = null;
  #isCalm = false;
  /** Whether followers may differ from the store until everything is applied again. */
  #isRestored = false;
  /**
   * Partitions whose applied log has lost its end, by `<generation>/<partition>`: they must not
   * apply more.
   */
  readonly #ended = new Set<string>();
  readonly #followers: Follower[];
  readonly #operator: Host = { name: 'operator', state: 'running' };
  #violation: Violation | null = null;

  constructor(seed: number, partitions: number) {
    this.random = new Random(seed);
    // In a third of all histories brokers fail often: only then late answers are frequent.
    this.faultChance = seed % 3 === 2 ? 0.15 : 0.02;
    this.scheduler = new Scheduler(this.random);
    this.#server = new Server(this.scheduler, this.random);
    this.logs = Array.from({ length: partitions }, () => new PartitionLog(this.random));
    this.leaders = this.logs.map(() => 0);
    this.#history = this.logs.map(() => []);
    this.#invariants = new Invariants({
      history: (partition) => this.#history[partition] ?? [],
      partitionOf: this.#partitionOf,
      isSkipped: (partition, from) => this.#skips.has(`${partition}/${from}`),
    });
    this.#followers = STORES.map(
      (storeId, index) => new Follower(`follower of ${storeId}`, storeId, 1 + index * 3),
    );
    this.#server.onUnknownCommit = (before) => this.#restoreBefore(before);
    this.#server.onCommit = (before, after, session) => this.#checkCommit(before, after, session);
  }

  skippedTo = (partition: number, from: number) => this.#skips.get(`${partition}/${from}`) ?? null;

  violate = (what: string) => {
    this.#violation ??= new Violation(what);
  };

  trace = (what: string) => {
    this.lines.push(`${String(this.scheduler.now).padStart(7)} ms  ${what}`);
  };

  async run(actions: number): Promise<void> {
    for (let number = 0; number < 2; number += 1) this.#join();
    this.#rebalance();
    for (let count = 0; count < actions; count += 1) {
      this.#act();
      await this.#pass(this.random.below(this.random.chance(0.1) ? 3_000 : 60));
      if (this.random.chance(0.1)) await this.#checkTrees();
    }
    await this.#calmDown();
  }

  /** Does something later that no process does. */
  #after(milliseconds: number, work: () => void): void {
    this.scheduler.after(milliseconds, null, work);
  }

  async #pass(milliseconds: number): Promise<void> {
    const until = this.scheduler.now + milliseconds;
    while (await this.scheduler.step(until)) if (this.#violation !== null) throw this.#violation;
  }

  /** The possible actions: weight, effect, and a partition if needed. */
  readonly #actions: readonly [
    weight: number,
    act: (partition: number, log: PartitionLog) => void,
  ][] = [
    [40, () => this.#publish()],
    [6, () => this.#burst()],
    [3, (...place) => this.#poison(...place)],
    [4, (...place) => this.#leaveGap(...place)],
    [3, (...place) => this.#transact(...place)],
    [2, (partition) => this.#unreadable(partition, 'malformed')],
    [1, (partition) => this.#unreadable(partition, 'corrupt')],
    [2, (...place) => this.#deleteApplied(...place)],
    [0.3, (...place) => this.#loseEnd(...place)],
    [0.2, (...place) => this.#makeAnew(...place)],
    [3, (partition) => this.#moveLeader(partition)],
    [2, (partition) => this.#loseLeader(partition)],
    [4, () => this.#kill()],
    [4, () => this.#freeze()],
    [4, () => this.#resume()],
    [5, () => this.#joinOthers()],
    [2, () => this.#leave()],
    [3, () => this.#cut()],
    [4, () => this.#mend()],
    [2, () => (this.#server.faults.maxWrites = 20)],
    [4, () => this.#backUp()],
    [3, () => this.#restore()],
    [1, () => this.#restoreErasures()],
    [5, () => this.#retry()],
    [10, () => this.#erase()],
    [2, () => this.#rebuild()],
    [3, () => this.#flip()],
    [1, () => this.#rollBack()],
    [12, () => this.#follow(this.random.pick(this.#followers))],
  ];

  #act(): void {
    let at = this.random.next() * this.#actions.reduce((sum, [weight]) => sum + weight, 0);
    const chosen = this.#actions.find(([weight]) => (at -= weight) < 0);
    const partition = this.random.below(this.logs.length);
    chosen?.[1](partition, this.#logOf(partition));
  }

  #burst(): void {
    for (let count = 5 + this.random.below(30); count > 0; count -= 1) this.#publish();
  }

  #poison(partition: number, log: PartitionLog): void {
    this.trace(`poison in ${partition}`);
    this.#noted(partition, log.append(this.#storeIn(partition), 'no event', this.scheduler.now));
  }

  #leaveGap(partition: number, log: PartitionLog): void {
    if (this.random.chance(0.5)) log.appendGap(1 + this.random.below(3));
    else {
      log.skipOffsets(1 + this.random.below(3));
      this.#publish(this.#storeIn(partition));
    }
    this.#wake();
  }

  /** Appends an unreadable batch. A damaged one stops the partition until an operator skips it. */
  #unreadable(partition: number, reason: 'malformed' | 'corrupt'): void {
    // In a replaced log it would hide its messages from the model.
    if (this.#isOther(partition)) return;
    const entry = this.#logOf(partition).appendUnreadable(1 + this.random.below(3), reason);
    this.trace(`a batch in ${partition} is ${reason} at ${entry.from}`);
    if (reason === 'corrupt') {
      const skip = () => this.#skips.set(`${partition}/${entry.from}`, entry.to);
      this.#after(this.random.below(20_000), skip);
    }
    this.#noted(partition, entry);
  }

  #publish(
    storeId = this.random.pick(STORES),
    given: { entity?: Kind; subject?: string; isDeleted?: boolean } = {},
  ): Entry {
    const { random } = this;
    const { entity = random.chance(0.05) ? 'store' : random.pick(KINDS) } = given;
    const { subject = entity === 'store' ? storeId : `${entity[0]}${1 + random.below(6)}` } = given;
    const isGiven = given.subject !== undefined;
    const { isDeleted = !isGiven && random.chance(0.2) } = given;
    // Mostly newer than all before, sometimes late or repeated.
    this.#sequence += isGiven || random.chance(0.8) ? 1 : 0;
    const sequence = Math.max(
      0,
      this.#sequence - (!isGiven && random.chance(0.15) ? random.below(5) : 0),
    );
    const named =
      isGiven || random.chance(0.6)
        ? { id: isGiven ? 'c1' : `c${1 + random.below(6)}`, name: NAME, phone: '11 9' }
        : null;
    const varied: Partial<Record<Kind, () => object>> = {
      order: () => ({ customer: named, status: random.pick(['pending', 'ready', 'concluded']) }),
      review: () => ({ customer_id: named?.id ?? null, customer_name: named?.name ?? null }),
      customer: () => ({
        name: random.pick(['Ana', 'Bia', 'Caio', 'Davi']),
        phone: '11 98765-4321',
      }),
      product: () => ({ category_id: random.pick(['k1', 'k2', null]) }),
    };
    const data = { ...MINIMAL[entity], ...varied[entity]?.() };
    const { key, value } = encodeEvent({
      entity,
      action: isDeleted ? 'deleted' : 'changed',
      storeId,
      subject,
      sequence,
      source: '/world',
      time: new Date(NOON_MS + this.scheduler.now),
      id: `${this.scheduler.now}`,
      ...(isDeleted ? {} : { data }),
    });
    const partition = this.#partitionOf(storeId);
    const entry = this.#logOf(partition).append(key, value, this.scheduler.now);
    this.trace(
      `${partition}/${entry.from}: ${entity} ${storeId}/${subject} ${sequence}${isDeleted ? ' deleted' : ''}`,
    );
    this.#noted(partition, entry);
    return entry;
  }

  /** A transaction of some events; others publish after them until it ends. */
  #transact(partition: number, log: PartitionLog): void {
    const { random } = this;
    if (log.isOpen) return;
    const entries = Array.from({ length: 1 + random.below(4) }, () =>
      this.#publish(this.#storeIn(partition)),
    );
    log.openTransaction(entries);
    const isAborted = random.chance(0.5);
    this.#after(random.below(3_000), () => {
      this.trace(`the transaction in ${partition} is ${isAborted ? 'aborted' : 'committed'}`);
      log.endTransaction(entries, isAborted);
      this.#wake();
    });
  }

  #noted(partition: number, entry: Entry): void {
    this.#history[partition]?.push(entry);
    this.#wake();
  }

  #wake(): void {
    for (const projector of this.#projectors) projector.wake();
  }

  /** Retention deletes messages that every generation has applied. */
  #deleteApplied(partition: number, log: PartitionLog): void {
    const positions = this.#generations.map((generation) =>
      this.#positionOf(this.#server.state, generation, partition),
    );
    const backup =
      this.#backup === null ? Infinity : this.#positionOf(this.#backup, LIVE, partition);
    const to = Math.min(...positions, backup);
    // The proof of a replaced log must stay: after its deletion no one can detect the replacement.
    if (to === 0 || this.#generations.length === 1 || this.#isOther(partition)) return;
    this.trace(`${partition} is deleted before ${to}`);
    log.deleteBefore(to);
  }

  /** The log is another one than every generation has applied. */
  #end(partition: number): void {
    for (const generation of this.#generations) this.#ended.add(`${generation}/${partition}`);
  }

  /** Whether a generation has applied messages of a replaced log. */
  #isOther(partition: number): boolean {
    return this.#generations.some((generation) => this.#ended.has(`${generation}/${partition}`));
  }

  /** Whether every generation has applied all of a partition. */
  #isApplied(partition: number): boolean {
    const { end } = this.#logOf(partition);
    return this.#generations.every(
      (generation) => this.#positionOf(this.#server.state, generation, partition) === end,
    );
  }

  #loseEnd(partition: number, log: PartitionLog): void {
    if (log.end - log.start < 4 || !this.#isApplied(partition)) return;
    // At least the last message: a lost end without one cannot be detected
    // (docs/decisions/0078-simulation.md).
    const last = log.entries.findLast(({ message }) => message !== null);
    if (last === undefined) return;
    const { end } = log;
    const from = Math.max(log.start, last.from - this.random.below(3));
    this.trace(`${partition} loses what lies from ${from} on`);
    log.loseFrom(from);
    this.#history[partition] = this.#history[partition]?.filter(({ to }) => to < from) ?? [];
    this.#end(partition);
    // Other messages take all the offsets: an unreadable batch there would hide its messages.
    while (log.end < end + 4) this.#publish();
  }

  /** Recreates the topic with a shorter, equal or longer log. */
  #makeAnew(partition: number, log: PartitionLog): void {
    const { end } = log;
    if (!this.#isApplied(partition) || !log.entries.some(({ message }) => message !== null)) return;
    this.trace(`the topic of ${partition} is made again`);
    log.makeAnew();
    this.#history[partition] = [];
    this.#end(partition);
    for (let count = this.random.below(2 * end); count > 0; count -= 1) {
      // Aborted messages and markers may lie where the last applied message was.
      if (this.random.chance(0.3)) log.appendGap(1);
      else this.#publish(this.#storeIn(partition));
    }
  }

  #moveLeader(partition: number): void {
    const leader = this.leaders[partition] ?? null;
    if (leader === null) return;
    this.leaders[partition] = 1 - leader;
    this.#wake();
  }

  #loseLeader(partition: number): void {
    this.trace(`${partition} has no leader`);
    this.leaders[partition] = null;
    this.#after(this.random.below(20_000), () => {
      this.leaders[partition] = this.random.below(2);
      this.#wake();
    });
    this.#wake();
  }

  #running(): Projector[] {
    return this.#projectors.filter(({ state }) => state === 'running');
  }

  #join(): void {
    this.#named += 1;
    const projector = new Projector(`p${this.#named}`, this, (host) => this.#server.client(host));
    this.trace(`${projector.name} joins`);
    this.#projectors.push(projector);
  }

  #joinOthers(): void {
    if (this.#running().length < 3) this.#join();
    this.#rebalance();
  }

  #kill(): void {
    const victim = this.random.pick([...this.#projectors, null]);
    if (victim === null) return;
    this.trace(`${victim.name} is killed`);
    victim.state = 'killed';
    this.#projectors = this.#projectors.filter((one) => one !== victim);
    this.#after(SESSION_MS, () => this.#rebalance());
  }

  #freeze(): void {
    const [victim] = this.#running();
    if (victim === undefined) return;
    this.trace(`${victim.name} is frozen`);
    victim.state = 'frozen';
    this.#after(SESSION_MS, () => this.#rebalance());
  }

  #resume(): void {
    const frozen = this.#projectors.find(({ state }) => state === 'frozen');
    if (frozen === undefined) return;
    this.trace(`${frozen.name} continues`);
    frozen.state = 'running';
    // It continues unaware until it receives the assignment.
    this.#after(this.random.below(300), () => this.#rebalance());
  }

  #leave(): void {
    const [projector, ...others] = this.#running();
    if (projector === undefined || others.length === 0) return;
    this.trace(`${projector.name} leaves`);
    projector.assign([]);
    // An assignment under way does not reach a member that has left.
    this.#heard.set(projector, Infinity);
    this.#projectors = this.#projectors.filter((one) => one !== projector);
    this.#rebalance();
  }

  /**
   * Assigns the partitions to responsive projectors, each of which learns of it at its own time.
   */
  #rebalance(): void {
    const members = this.#running();
    if (members.length === 0) return;
    const shares = new Map(members.map((member): [Projector, string[]] => [member, []]));
    for (const generation of this.#generations) {
      for (const partition of this.logs.keys()) {
        const key = `${generation}/${partition}`;
        const former = members.find(({ assigned }) => assigned.includes(key));
        const owner =
          former !== undefined && this.random.chance(0.7) ? former : this.random.pick(members);
        shares.get(owner)?.push(key);
      }
    }
    this.#rebalances += 1;
    const rebalance = this.#rebalances;
    for (const [member, share] of shares) {
      this.scheduler.after(this.random.below(50), member, () => {
        // Assignments arrive in order.
        if ((this.#heard.get(member) ?? 0) > rebalance) return;
        this.#heard.set(member, rebalance);
        member.assign(share);
      });
    }
  }

  #cut(): void {
    this.trace('MongoDB is away, or loses answers');
    if (this.random.chance(0.3)) this.#server.faults.isAway = true;
    else this.#server.faults.lost = this.random.next() * 0.3;
  }

  #mend(): void {
    Object.assign(this.#server.faults, { lost: 0, isAway: false, maxWrites: Infinity });
  }

  #backUp(): void {
    this.trace('backup');
    this.#backup = this.#server.state;
  }

  #restore(to = this.#backup): void {
    if (to === null || this.#generations.length > 1 || this.#ended.size > 0 || this.#isCalm) return;
    this.trace('MongoDB is restored to an earlier moment');
    this.#isRestored = true;
    this.#server.restore(to);
  }

  /**
   * A customer with several orders is deleted, partitions change owners, and MongoDB is restored to
   * before: its erasures go on at once.
   */
  #restoreErasures(): void {
    const storeId = this.random.pick(STORES);
    for (let order = 1; order <= 5; order += 1)
      this.#publish(storeId, { entity: 'order', subject: `o${order}` });
    this.#publish(storeId, { entity: 'customer', subject: 'c1', isDeleted: true });
    this.#after(50 + this.random.below(200), () => {
      if (this.#isCalm) return;
      this.#backUp();
      this.#kill();
      this.#after(SESSION_MS + 500, () => {
        this.#restore();
        this.#after(this.random.below(5), () => this.#erase());
      });
    });
  }

  /**
   * The worst case: followers received a commit whose outcome its client does not know, and the
   * database loses it.
   */
  #restoreBefore(state: State): void {
    this.#after(this.random.below(20), () => {
      for (const follower of this.#followers)
        while (!follower.poll(this.#server.state, this.#answering));
      this.#restore(state);
      // Other changes now get its positions.
      for (let count = this.random.below(4); count > 0; count -= 1) this.#publish();
    });
  }

  /**
   * An operator retries a dead letter, which assigns a position that a replay of the log does not
   * assign.
   */
  #retry(): void {
    const storeId = this.random.pick(STORES);
    const stored = recordsOf(this.#server.state, LIVE, storeId);
    const key = stored.keys().find((one) => one.startsWith('product/'));
    if (key === undefined) return;
    const subject = key.slice(key.lastIndexOf('/') + 1);
    this.#sequence += 1;
    this.trace(`an operator retries a letter of product ${storeId}/${subject} ${this.#sequence}`);
    const event = encodeEvent({
      entity: 'product',
      storeId,
      subject,
      sequence: this.#sequence,
      source: '/operator',
      id: 'retried',
      time: new Date(NOON_MS),
      data: MINIMAL.product,
    });
    const client = this.#server.client(this.#operator);
    void retryLetter(client, LIVE, this.#partitionOf(storeId), event).catch(this.#expectFault);
  }

  /** Any failure except of the database is a bug, in the world or the product. */
  readonly #expectFault = (error: unknown) => {
    if (!(error instanceof MongoError)) this.violate(String(error));
  };

  /** Erases pieces of customers with more records than one slice erases. */
  #erase(): void {
    for (const projector of this.#running()) void projector.erase().catch(this.#expectFault);
  }

  #rebuild(): void {
    if (this.#generations.length > 1) return;
    this.trace('rebuild begins');
    this.#generations = [LIVE, NEXT];
    this.#rebalance();
  }

  #rollBack(): void {
    if (this.#answering === LIVE) return;
    this.trace('rollback');
    this.#answering = LIVE;
  }

  /** Flips once the next generation has reached the live one in every partition. */
  #flip(): void {
    if (this.#generations.length === 1 || this.#answering === NEXT) return;
    const { state } = this.#server;
    const isBehind = this.logs.some(
      (_, at) => this.#positionOf(state, NEXT, at) < this.#positionOf(state, LIVE, at),
    );
    if (isBehind) return;
    this.trace('flip');
    this.#answering = NEXT;
  }

  #positionOf(state: State, generation: string, partition: number): number {
    const found = docsOf(state, generation, CHECKPOINTS).find(
      (doc) => doc['partition'] === partition,
    );
    return Number(found?.['position'] ?? 0);
  }

  async #checkTrees(): Promise<void> {
    for (const generation of this.#generations)
      await this.#invariants.checkTrees(this.#server.state, generation);
  }

  #checkCommit(before: State, after: State, session: Session['id'] | null): void {
    if (this.#violation !== null) return;
    try {
      for (const key of this.#ended) {
        const [generation = '', partition] = key.split('/');
        const was = this.#positionOf(before, generation, Number(partition));
        if (was !== this.#positionOf(after, generation, Number(partition)))
          throw new Violation(`${key}: another log was applied at ${was}`);
      }
      this.#invariants.check(before, after, session, this.#ended);
    } catch (error) {
      this.#violation = error as Violation;
    }
  }

  #follow(follower: Follower): void {
    const { state } = this.#server;
    if (!follower.poll(state, this.#answering) || this.#isRestored) return;
    this.#compare(follower, state);
  }

  /** @param isFinal whether faults are over: then the copy equals the store. */
  #compare(follower: Follower, state: State, isFinal = false): void {
    const { storeId, copy, name } = follower;
    const records = recordsOf(state, this.#answering, storeId);
    for (const [key, sequence] of records) {
      const has = copy.get(key);
      // After a flip the copy may be newer: the former generation may have been ahead.
      if (isFinal ? has !== sequence : has === undefined || has < sequence)
        throw new Violation(`${name} missed ${key} ${sequence}: it has ${has ?? 'nothing'}`);
    }
    if (this.#generations.length > 1 && !isFinal) return;
    for (const key of copy.keys())
      if (!records.has(key)) throw new Violation(`${name} was not told that ${key} was deleted`);
  }

  /** The quiet end: without faults all published messages are applied, and followers have them. */
  async #calmDown(): Promise<void> {
    this.trace('from here on nothing goes wrong');
    this.#isCalm = true;
    this.faultChance = 0;
    this.#mend();
    this.#server.endSessionsOf(this.#operator);
    for (const projector of this.#projectors)
      if (projector.state === 'frozen') projector.state = 'running';
    while (this.#running().length < 2) this.#join();
    this.#rebalance();
    const end = this.scheduler.now + QUIET_MS;
    while (!this.#isCaughtUp()) {
      if (this.scheduler.now >= end)
        throw new Violation(`not everything is applied: ${this.#positions()}`);
      await this.#pass(500);
      this.#wake();
      this.#erase();
    }
    const { state } = this.#server;
    for (const generation of this.#generations)
      this.#invariants.checkAll(state, generation, this.#ended);
    await this.#checkTrees();
    for (const follower of this.#followers) {
      // Followers may have changes of a lost end, which no other generation has.
      if (this.#isOther(this.#partitionOf(follower.storeId))) continue;
      while (!follower.poll(state, this.#answering));
      this.#compare(follower, state, true);
    }
  }

  /** Asserts that the loop of a partition with a replaced log has stopped and reported it. */
  #isCaughtUp(): boolean {
    const { state } = this.#server;
    return this.#generations.every((generation) => {
      const queued = docsOf(state, generation, REWRITINGS);
      if (queued.some((doc) => !this.#ended.has(`${generation}/${String(doc['partition'])}`)))
        return false;
      return this.logs.every(({ end }, partition) => {
        const key = `${generation}/${partition}`;
        // Lost history is always reported.
        if (this.#ended.has(key)) return this.#running().some(({ stopped }) => stopped.has(key));
        return (
          this.#positionOf(state, generation, partition) >= lastEnd(this.#history[partition], end)
        );
      });
    });
  }

  #positions(): string {
    return this.#generations
      .flatMap((generation) =>
        this.logs.map(
          ({ end }, partition) =>
            `${generation}/${partition} ${this.#positionOf(this.#server.state, generation, partition)} of ${end}`,
        ),
      )
      .join(', ');
  }

  readonly #partitionOf = (storeId: string) => Number(storeId.slice(1)) % this.logs.length;

  #storeIn(partition: number): string {
    return STORES.find((storeId) => this.#partitionOf(storeId) === partition) ?? '';
  }

  #logOf(partition: number): PartitionLog {
    const log = this.logs[partition];
    if (log === undefined) throw new Error(`there is no partition ${partition}`);
    return log;
  }
}

/** The offset after the last message; gaps at the end need not be applied. */
function lastEnd(history: readonly Entry[] | undefined, end: number): number {
  return Math.min((history?.at(-1)?.to ?? -1) + 1, end);
}
