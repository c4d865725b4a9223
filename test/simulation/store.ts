/**
 * A MongoDB in memory with exactly the guarantees of a replica set that the projector uses.
 * Transactions read one snapshot. A write to a document that another transaction holds, or that
 * changed since the snapshot, is a conflict. A killed client's transaction keeps its locks until
 * its session is killed. An answer may be lost, with the work done or not.
 * `test/simulation/promises.integration.test.ts` runs the same cases against a real server.
 */
import { MongoNetworkError, MongoServerError } from 'mongodb';
import { compare, copy, type Doc, evaluate, matches, updated, valueAt } from './filters.ts';
import type { Random } from '../../deploy/testing/random.ts';
import type { Host, Scheduler } from './scheduler.ts';

interface Versioned {
  doc: Doc;
  /** The number of the commit that wrote it. */
  version: number;
}
type Documents = ReadonlyMap<string, Versioned>;
/** The committed documents, by `<database>/<collection>`. Immutable. */
export type State = ReadonlyMap<string, Documents>;

/** The documents of a collection. */
export function docsOf(state: State, database: string, collection: string): Doc[] {
  return [...(state.get(`${database}/${collection}`)?.values() ?? [])].map(({ doc }) => doc);
}

const LOCK_WAIT_MS = 10;
/** The maximum delay of a commit after its client gave up. */
const MAX_LATE_MS = 3_000;

interface Transaction {
  session: Session;
  /** `null` until its first operation. */
  snapshot: { state: State; version: number } | null;
  /** By collection and id; `null` for a deletion. */
  writes: Map<string, Map<string, Doc | null>>;
  written: number;
  isOpen: boolean;
}

/** Probabilities of failures, and durations. */
export interface StoreFaults {
  /** The request is lost before its execution, or its answer afterwards. */
  lost: number;
  /** No request is executed. */
  isAway: boolean;
  /** The maximum number of writes in a transaction. */
  maxWrites: number;
}

export class Server {
  readonly faults: StoreFaults = { lost: 0, isAway: false, maxWrites: Infinity };
  /** Called with each commit and its session, before any other event. */
  onCommit: (before: State, after: State, session: Session['id'] | null) => void = () => undefined;
  /** Called with a commit whose answer is lost, and the former state. */
  onUnknownCommit: (before: State) => void = () => undefined;
  state: State = new Map();
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #version = 0;
  /** Open transactions by locked document: `<database>/<collection>/<id>`. */
  readonly #locks = new Map<string, Transaction>();
  readonly #open = new Set<Transaction>();

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  client(host: Host): Client {
    return new Client(this, host);
  }

  /** Restores an earlier state, like a backup. Open transactions end. */
  restore(state: State): void {
    for (const transaction of this.#open) this.#end(transaction);
    this.#version += 1;
    this.state = new Map(
      [...state].map(([name, documents]) => [
        name,
        new Map([...documents].map(([id, { doc }]) => [id, { doc, version: this.#version }])),
      ]),
    );
  }

  /** Executes and answers a request of a host; either message may be lost. */
  request<T>(
    host: Host,
    work: () => T,
    { isCommit = false, maxTimeMS = Infinity } = {},
  ): Promise<T> {
    const sentAt = this.#scheduler.now;
    return new Promise((resolve, reject) => {
      const attempt = () => {
        const isLost = this.faults.isAway || this.#random.chance(this.faults.lost);
        const isDone = !isLost || (!this.faults.isAway && this.#random.chance(0.5));
        let answer: () => void = () => reject(lostConnection(isCommit));
        if (isDone) {
          const before = this.state;
          try {
            const result = work();
            if (isCommit && isLost && this.state !== before) this.onUnknownCommit(before);
            if (result === WAIT && this.#scheduler.now - sentAt < maxTimeMS) {
              return this.#scheduler.after(LOCK_WAIT_MS, null, attempt);
            }
            if (result === WAIT)
              throw new MongoServerError({ message: 'operation exceeded time limit', code: 50 });
            if (!isLost) answer = () => resolve(result);
          } catch (error) {
            if (!(error instanceof MongoServerError)) {
              // A bug of the world itself.
              answer = () => reject(error instanceof Error ? error : new Error(String(error)));
            } else if (!isLost) answer = () => reject(error);
          }
        }
        if (isCommit && !isDone && !this.faults.isAway) this.#arriveLate(work);
        if (host.state === 'running') answer();
        else this.#scheduler.after(0, host, answer);
      };
      // A sent request is executed even if the host dies.
      this.#scheduler.after(1 + this.#random.below(4), null, attempt);
    });
  }

  /**
   * A commit in transit when its client gave up: it takes effect unless its session was killed
   * before.
   */
  #arriveLate(commit: () => unknown): void {
    this.#scheduler.after(this.#random.below(MAX_LATE_MS), null, () => {
      const before = this.state;
      try {
        commit();
      } catch (error) {
        if (!(error instanceof MongoServerError)) throw error;
      }
      if (this.state !== before) this.onUnknownCommit(before);
    });
  }

  documentsOf(name: string, transaction: Transaction | null): Map<string, Doc> {
    const { state } = this.#viewOf(transaction);
    const found = new Map([...(state.get(name) ?? [])].map(([id, { doc }]) => [id, doc]));
    for (const [id, doc] of transaction?.writes.get(name) ?? []) {
      if (doc === null) found.delete(id);
      else found.set(id, doc);
    }
    return found;
  }

  /**
   * Writes documents; outside of a transaction they are committed immediately.
   * @returns `WAIT` if another transaction holds one.
   */
  write(
    name: string,
    transaction: Transaction | null,
    changes: ReadonlyMap<string, Doc | null>,
  ): typeof WAIT | null {
    const { version, state: then } = this.#viewOf(transaction);
    for (const id of changes.keys()) {
      const holder = this.#locks.get(`${name}/${id}`);
      if (holder !== undefined && holder !== transaction) {
        if (transaction === null) return WAIT;
        this.#fail(transaction);
      }
      if (transaction === null) continue;
      const now = this.state.get(name)?.get(id);
      // Changed, or deleted, since the snapshot.
      if ((now?.version ?? 0) > version || (now === undefined && then.get(name)?.has(id) === true))
        this.#fail(transaction);
    }
    if (transaction === null) {
      this.#commit(new Map([[name, changes]]), null);
      return null;
    }
    const writes = transaction.writes.get(name) ?? new Map<string, Doc | null>();
    transaction.writes.set(name, writes);
    for (const [id, doc] of changes) {
      writes.set(id, doc);
      this.#locks.set(`${name}/${id}`, transaction);
    }
    transaction.written += changes.size;
    if (transaction.written > this.faults.maxWrites) {
      this.#end(transaction);
      throw new MongoServerError({ message: 'transaction too large', code: 257 });
    }
    return null;
  }

  commit(transaction: Transaction): void {
    this.#require(transaction);
    this.#end(transaction);
    if (transaction.writes.size > 0) this.#commit(transaction.writes, transaction.session.id);
  }

  abort(transaction: Transaction): void {
    if (transaction.isOpen) this.#end(transaction);
  }

  begin(session: Session): Transaction {
    const transaction: Transaction = {
      session,
      snapshot: null,
      writes: new Map(),
      written: 0,
      isOpen: true,
    };
    this.#open.add(transaction);
    return transaction;
  }

  /** Ends the transactions of sessions, like `killSessions`. */
  kill(sessionIds: readonly string[]): void {
    for (const transaction of this.#open) {
      if (sessionIds.includes(transaction.session.id.id)) this.#end(transaction);
    }
  }

  /** Ends a client's open transaction, like a clean exit. */
  endSessionsOf(host: Host): void {
    for (const transaction of this.#open)
      if (transaction.session.host === host) this.#end(transaction);
  }

  #viewOf(transaction: Transaction | null): { state: State; version: number } {
    const now = { state: this.state, version: this.#version };
    if (transaction === null) return now;
    this.#require(transaction);
    if (transaction.snapshot === null) this.#endFormerOf(transaction);
    return (transaction.snapshot ??= now);
  }

  /** A session has one transaction: the first operation of the next one aborts it. */
  #endFormerOf(transaction: Transaction): void {
    for (const other of this.#open) {
      if (other !== transaction && other.session === transaction.session) this.#end(other);
    }
  }

  #require(transaction: Transaction): void {
    if (!transaction.isOpen) throw transient('the transaction was ended', 251);
  }

  #fail(transaction: Transaction): never {
    this.#end(transaction);
    throw transient('write conflict', 112);
  }

  #end(transaction: Transaction): void {
    transaction.isOpen = false;
    this.#open.delete(transaction);
    for (const [key, holder] of this.#locks) if (holder === transaction) this.#locks.delete(key);
  }

  #commit(
    writes: ReadonlyMap<string, ReadonlyMap<string, Doc | null>>,
    session: Session['id'] | null,
  ): void {
    const before = this.state;
    this.#version += 1;
    const state = new Map(before);
    for (const [name, changes] of writes) {
      const documents = new Map(state.get(name));
      for (const [id, doc] of changes) {
        if (doc === null) documents.delete(id);
        else documents.set(id, { doc, version: this.#version });
      }
      state.set(name, documents);
    }
    this.state = state;
    this.onCommit(before, state, session);
  }
}

const WAIT = Symbol('another transaction holds the document');

function transient(message: string, code: number): MongoServerError {
  return new MongoServerError({ message, code, errorLabels: ['TransientTransactionError'] });
}

function lostConnection(isCommit: boolean): Error {
  const error = new MongoNetworkError('connection closed');
  if (isCommit) error.addErrorLabel('UnknownTransactionCommitResult');
  return error;
}

let sessions = 0;

/** The part of the driver's client session that the projector uses. */
export class Session {
  readonly id: { id: string };
  readonly host: Host;
  readonly #server: Server;
  transaction: Transaction | null = null;

  constructor(server: Server, host: Host) {
    sessions += 1;
    this.id = { id: `session ${sessions}` };
    this.#server = server;
    this.host = host;
  }

  inTransaction(): boolean {
    return this.transaction !== null;
  }

  startTransaction(): void {
    if (this.transaction !== null) throw new Error('a transaction is under way');
    this.transaction = this.#server.begin(this);
  }

  async commitTransaction(): Promise<void> {
    const { transaction } = this;
    if (transaction === null) throw new Error('no transaction is under way');
    this.transaction = null;
    await this.#server.request(this.host, () => this.#server.commit(transaction), {
      isCommit: true,
    });
  }

  async abortTransaction(): Promise<void> {
    const { transaction } = this;
    this.transaction = null;
    if (transaction !== null)
      await this.#server.request(this.host, () => this.#server.abort(transaction));
  }

  async endSession(): Promise<void> {
    await this.abortTransaction().catch(() => undefined);
  }
}

interface Options {
  session?: Session;
  sort?: Record<string, 1 | -1>;
  limit?: number;
  upsert?: boolean;
  maxTimeMS?: number;
}

interface Written {
  modifiedCount: number;
  doc: Doc | null;
}

type Operation = Record<
  string,
  { filter?: object; update?: object; replacement?: object; document?: Doc; upsert?: boolean }
>;

function cursorOf(read: () => Promise<Doc[]>) {
  return {
    toArray: read,
    async *[Symbol.asyncIterator]() {
      yield* await read();
    },
  };
}

function select(
  documents: Iterable<Doc>,
  filter: object,
  { sort = {}, limit = 0 }: Options,
): Doc[] {
  const found = [...documents].filter((doc) => matches(doc, filter));
  const order = Object.entries(sort);
  found.sort((a, b) => {
    for (const [path, direction] of order) {
      const by = compare(valueAt(a, path), valueAt(b, path)) * direction;
      if (by !== 0) return by;
    }
    return compare(a._id, b._id);
  });
  return (limit > 0 ? found.slice(0, limit) : found).map((doc) => copy(doc));
}

type Stage = { $match?: object; $project?: Record<string, unknown>; $count?: string };

/** A read-only database of a committed state, without delays and faults. */
export function readerOf(state: State, database: string) {
  return {
    collection: (name: string) => {
      const docs = () => docsOf(state, database, name);
      return {
        find: (filter: object, options: Options) =>
          cursorOf(async () => select(docs(), filter, options)),
        aggregate: (stages: readonly Stage[]) =>
          cursorOf(async () => stages.reduce((rows, stage) => staged(rows, stage), docs())),
      };
    },
  };
}

function staged(rows: Doc[], { $match, $project, $count }: Stage): Doc[] {
  if ($match !== undefined) return rows.filter((row) => matches(row, $match));
  if ($count !== undefined) return rows.length === 0 ? [] : [{ _id: '', [$count]: rows.length }];
  const fields = Object.entries($project ?? {});
  return rows.map((row) => ({
    _id: row._id,
    ...Object.fromEntries(fields.map(([field, expression]) => [field, evaluate(row, expression)])),
  }));
}

/** The effect of an operation on documents. */
function changesBy(
  operation: Operation,
  docs: ReadonlyMap<string, Doc>,
): [id: string, doc: Doc | null][] {
  const [[kind, { filter = {}, update = {}, replacement, document, upsert = false }] = ['', {}]] =
    Object.entries(operation);
  if (document !== undefined) {
    if (docs.has(document._id))
      throw new MongoServerError({ message: `duplicate ${document._id}`, code: 11_000 });
    return [[document._id, copy(document)]];
  }
  const found = [...docs.values()]
    .filter((doc) => matches(doc, filter))
    .slice(0, kind.endsWith('Many') ? Infinity : 1);
  if (kind.startsWith('delete')) return found.map(({ _id }) => [_id, null]);
  const isNew = found.length === 0 && upsert;
  const targets = isNew ? [{ _id: String(valueAt(filter, '_id')) }] : found;
  return targets.map((before) => {
    const { _id } = before;
    const after =
      replacement === undefined ? updated(before, update, isNew) : { ...copy(replacement), _id };
    return [_id, after];
  });
}

function collectionOf(server: Server, host: Host, name: string) {
  const request = <T>(
    { session, maxTimeMS }: Options,
    work: (transaction: Transaction | null) => T,
  ): Promise<T> => {
    const transaction = session?.transaction ?? null;
    return server.request(host, () => work(transaction), { maxTimeMS });
  };
  const found = (filter: object, options: Options): Promise<Doc[]> =>
    request(options, (transaction) =>
      select(server.documentsOf(name, transaction).values(), filter, options),
    );
  const bulkWrite = (operations: readonly Operation[], options: Options = {}): Promise<Written> =>
    request(options, (transaction) => {
      const docs = server.documentsOf(name, transaction);
      const changes = new Map<string, Doc | null>();
      for (const operation of operations) {
        for (const [id, doc] of changesBy(operation, docs)) {
          if (doc === null) docs.delete(id);
          else docs.set(id, doc);
          changes.set(id, doc);
        }
      }
      const waiting = changes.size === 0 ? null : server.write(name, transaction, changes);
      const [doc = null] = changes.values();
      return waiting ?? { modifiedCount: changes.size, doc: copy(doc) };
    }) as Promise<Written>;
  const updateOne = (
    filter: object,
    update: object,
    { upsert = false, ...options }: Options = {},
  ): Promise<Written> => bulkWrite([{ updateOne: { filter, update, upsert } }], options);
  return {
    find: (filter: object = {}, options: Options = {}) => cursorOf(() => found(filter, options)),
    async findOne(filter: object, options: Options = {}): Promise<Doc | null> {
      const [first = null] = await found(filter, { ...options, limit: 1 });
      return first;
    },
    findOneAndUpdate: async (...update: Parameters<typeof updateOne>): Promise<Doc | null> =>
      (await updateOne(...update)).doc,
    updateOne,
    updateMany: (filter: object, update: object, options: Options = {}): Promise<Written> =>
      bulkWrite([{ updateMany: { filter, update } }], options),
    deleteOne: (filter: object, options: Options = {}): Promise<Written> =>
      bulkWrite([{ deleteOne: { filter } }], options),
    deleteMany: (filter: object, options: Options = {}): Promise<Written> =>
      bulkWrite([{ deleteMany: { filter } }], options),
    insertMany: (documents: readonly Doc[], options: Options = {}): Promise<Written> =>
      bulkWrite(
        documents.map((document) => ({ insertOne: { document } })),
        options,
      ),
    bulkWrite,
  };
}

/** The driver's `Db`. */
function databaseOf(client: Client, server: Server, host: Host, databaseName: string) {
  const collection = (name: string) => collectionOf(server, host, `${databaseName}/${name}`);
  return {
    client,
    databaseName,
    collection,
    async command(command: Record<string, unknown>, options: Options = {}): Promise<object> {
      const { insert, documents, killSessions } = command;
      if (killSessions === undefined)
        return collection(insert as string).insertMany(documents as Doc[], options);
      const ids = (killSessions as { id: string }[]).map(({ id }) => id);
      await server.request(host, () => server.kill(ids));
      return {};
    },
  };
}

/** The driver's client. */
export class Client {
  readonly #server: Server;
  readonly #host: Host;

  constructor(server: Server, host: Host) {
    this.#server = server;
    this.#host = host;
  }

  db(name: string): ReturnType<typeof databaseOf> {
    return databaseOf(this, this.#server, this.#host, name);
  }

  startSession(): Session {
    return new Session(this.#server, this.#host);
  }
}
