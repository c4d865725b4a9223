/**
 * `store-data-api/testing` gives the tests of other projects a Store Data API of their own, with
 * real servers. Declared apart from the code, so that a project's compiler does not read that.
 */

export type EntityName =
  | 'store'
  | 'coupon'
  | 'customer'
  | 'review'
  | 'campaign'
  | 'order'
  | 'category'
  | 'product'
  | 'option_group';

export type Scope = 'store' | 'crm' | 'order' | 'menu';

/** The state of one entity, or its deletion. */
export interface Change {
  entity: EntityName;
  /** The entity's id; the store's own for a `store`. */
  id: string;
  /** Default: `s1`. */
  storeId?: string;
  /** The whole state, as docs/events.md has it. Absent in a deletion. */
  data?: object;
  /** The entity's version. Default: above all published before. */
  sequence?: number;
  /** When it happened. Default: now. */
  time?: Date;
}

/** Credentials for the token endpoint. */
export interface Key {
  clientId: string;
  clientSecret: string;
  storeId: string;
  scopes: Scope[];
}

/** The address and settings of a running API. JSON can carry it to another process. */
export interface Connection {
  /** The base URL of the API, without a slash at the end. */
  url: string;
  environment: string;
  /** The environment variables of its services. */
  settings: Record<string, string>;
}

/** A running API as a test drives it. */
export interface StoreData {
  url: string;
  connection: Connection;
  /**
   * Publishes changes in their order, and resolves once every answer shows them.
   * @throws {Error} before anything is published if one of them is not a valid event; the message says which one, and why.
   */
  publish: (changes: readonly Change[]) => Promise<void>;
  /** Creates a key, with all scopes by default, and resolves once it gets tokens. */
  createKey: (options?: { storeId?: string; scopes?: Scope[] }) => Promise<Key>;
  /** Revokes a key, and resolves once its tokens are refused. */
  revokeKey: (key: Key) => Promise<void>;
  /** A bearer token. */
  token: (key: Key) => Promise<string>;
  /** Resolves once answers show everything that was published so far, by any process. */
  settled: () => Promise<void>;
  /**
   * Disconnects. In the process that started the API it also ends the API, and removes its data
   * from servers that ran before.
   */
  stop: () => Promise<void>;
}

export interface StartOptions {
  /** Published before it resolves. */
  fixtures?: readonly Change[];
  /**
   * Variables of docs/configuration.md, such as `QUOTA_REQUESTS`. The default quota is a million
   * requests a minute.
   */
  settings?: Record<string, string>;
  /** Partitions of the topics. Default: 2. */
  partitions?: number;
  /** Receives log lines. Default: they are not shown. */
  log?: (line: string) => void;
}

/**
 * Starts Kafka, MongoDB and Redis, a projector and a query service, on free ports. Where
 * KAFKA_BROKERS, MONGODB_URI or REDIS_URL is set, that server is used; else a container if a Docker
 * engine answers; else a program that is downloaded once. All that was started ends with this
 * process, also when it is killed.
 */
export function startStoreData(options?: StartOptions): Promise<StoreData>;

/** Connects to an API that another process started, such as the global set-up of a test runner. */
export function connectStoreData(connection: Connection): Promise<StoreData>;

/** The kinds of records that the change feeds contain. */
export type Kind =
  | 'store'
  | 'order'
  | 'customer'
  | 'review'
  | 'campaign'
  | 'coupon'
  | 'category'
  | 'product'
  | 'option-group';

export interface ProofOptions {
  /**
   * Starts the client: a program and its arguments. It gets BASE_URL, CLIENT_ID, CLIENT_SECRET and
   * COPY (a path of its own, where it may keep its copy) as variables. It follows changes until it
   * is killed, and continues after a restart. If it ends by itself it is restarted, up to ten
   * times.
   */
  command: readonly string[];
  /**
   * Prints the client's copy and ends: one line of JSON for each record, `{"kind": "order", "id":
   * "o1", "record": {…}}`, with `timezone_offset` where the copy keeps date-times as it received
   * them. Default: the command followed by `--print`.
   */
  print?: readonly string[];
  /** The working directory of both commands. */
  cwd?: string;
  /** Further environment variables of both commands. */
  env?: Record<string, string>;
  /** The kinds that the client copies. Default: all. */
  kinds?: readonly Kind[];
  /** A running API. Default: the proof starts one, and ends it. */
  api?: StoreData;
  /** Variables for the API that the proof starts. The default quota is 600 requests a minute. */
  settings?: Record<string, string>;
  /** The number of changes to publish. Default: 2,000. */
  changes?: number;
  /** The same seed gives the same changes. Default: 1. */
  seed?: number;
  /**
   * How long the copy may be wrong after the last change; longer on a busy machine. Default: 60.
   */
  patienceSeconds?: number;
  /** Receives log lines. Default: they are not shown. */
  log?: (line: string) => void;
}

export interface WrongRecord {
  /** Kind and id, such as `order/o1`. */
  name: string;
  /** For a stale record, such as `status is "pending" instead of "ready"`. */
  differences?: string[];
}

export interface FollowerReport {
  changes: number;
  /** The number of records at the end. */
  records: number;
  missing: WrongRecord[];
  stale: WrongRecord[];
  notDeleted: WrongRecord[];
}

/**
 * The copy was wrong at the end. The message says what differs, and why a client misses such
 * changes.
 */
export declare class FollowerNotProven extends Error {
  readonly report: FollowerReport;
}

/**
 * Proves that a client which follows changes has every record and no deleted one. Changes come late, twice, undated, or with dates too
 * early or too late. Records are deleted and created again, customers erased, the timezone_offset changes. There is a rebuild, a rollback
 * and a retry of dead letters. The client and the services of the API are killed.
 * @throws {FollowerNotProven} if the copy is wrong at the end.
 * @throws {Error} if the client keeps ending by itself, or prints no copy.
 */
export function proveFollower(options: ProofOptions): Promise<FollowerReport>;
