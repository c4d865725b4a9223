/**
 * What `store-data-api/testing` offers to the tests of other projects: a whole Store Data API of their own, with real servers,
 * that is published to and waited for. Declared apart from its code, so that a project's compiler need not read that.
 */

export type EntityName =
  'store' | 'coupon' | 'customer' | 'review' | 'campaign' | 'order' | 'category' | 'product' | 'option_group';

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
  /** The entity's version. Default: above every one that was published before. */
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

/** What leads to a running API. It can be handed to another process as JSON. */
export interface Connection {
  /** Where the API answers, without a slash at the end. */
  url: string;
  environment: string;
  /** The variables with which its services were started. */
  settings: Record<string, string>;
}

/** A running API as a test drives it. */
export interface StoreData {
  url: string;
  connection: Connection;
  /**
   * Publishes changes in their order, and resolves once every answer shows them.
   * @throws {Error} before anything is published, where one of them is no event: which one, and why.
   */
  publish: (changes: readonly Change[]) => Promise<void>;
  /** Makes a key, with all scopes unless some are given, and resolves once it gets tokens. */
  createKey: (options?: { storeId?: string; scopes?: Scope[] }) => Promise<Key>;
  /** Revokes a key, and resolves once its tokens are refused. */
  revokeKey: (key: Key) => Promise<void>;
  /** A bearer token. */
  token: (key: Key) => Promise<string>;
  /** Resolves once everything that anybody has published so far can be read. */
  settled: () => Promise<void>;
  /** Disconnects. The process that started the API also ends it and removes what it made in given servers. */
  stop: () => Promise<void>;
}

export interface StartOptions {
  /** Published before it resolves. */
  fixtures?: readonly Change[];
  /** Variables of docs/configuration.md, such as `QUOTA_REQUESTS`. The quota is a million a minute unless given. */
  settings?: Record<string, string>;
  /** Partitions of the topics. Default: 2. */
  partitions?: number;
  /** Receives lines for people. Default: none are shown. */
  log?: (line: string) => void;
}

/**
 * Starts Kafka, MongoDB and Redis, a projector and a query service, on free ports. The servers are those of KAFKA_BROKERS, MONGODB_URI
 * and REDIS_URL where these are set, containers where a Docker engine answers, and else programs that are downloaded once.
 * However this process ends, nothing that was started outlives it.
 */
export function startStoreData(options?: StartOptions): Promise<StoreData>;

/** Reaches an API that another process started, a test file that of the global set-up for example. */
export function connectStoreData(connection: Connection): Promise<StoreData>;

/** The kinds of records that the change feeds contain. */
export type Kind =
  'store' | 'order' | 'customer' | 'review' | 'campaign' | 'coupon' | 'category' | 'product' | 'option-group';

export interface ProofOptions {
  /**
   * Starts the client: a program and its arguments. It gets BASE_URL, CLIENT_ID, CLIENT_SECRET and COPY (a path of its own, where it may
   * keep its copy) as variables. It follows until it is killed, and goes on when it is started again. If it ends by itself it is started
   * again, ten times.
   */
  command: readonly string[];
  /**
   * Prints the client's copy and ends: a line of JSON for each record, `{"kind": "order", "id": "o1", "record": {…}}`, with
   * `timezone_offset` where the copy keeps date-times as they came. Default: the command with `--print` behind it.
   */
  print?: readonly string[];
  /** Where both are run. */
  cwd?: string;
  /** Further variables for both. */
  env?: Record<string, string>;
  /** Those of which the client keeps a copy. Default: all. */
  kinds?: readonly Kind[];
  /** The API to prove it with. Default: one is started, and ended afterwards. */
  api?: StoreData;
  /** Variables for the API that is started. The quota is 600 requests a minute unless given. */
  settings?: Record<string, string>;
  /** How many changes are published. Default: 2,000. */
  changes?: number;
  /** The same number leads to the same changes. Default: 1. */
  seed?: number;
  /** For so long after the last change the copy may still be wrong; longer where other work slows the machine down. Default: 60. */
  patienceSeconds?: number;
  /** Receives lines for people. Default: none are shown. */
  log?: (line: string) => void;
}

export interface WrongRecord {
  /** Kind and id, such as `order/o1`. */
  name: string;
  /** Of a stale record: `status is "pending" instead of "ready"`. */
  differences?: string[];
}

export interface FollowerReport {
  changes: number;
  /** How many there are in the end. */
  records: number;
  missing: WrongRecord[];
  stale: WrongRecord[];
  notDeleted: WrongRecord[];
}

/** The copy was wrong in the end. Its message says what, and why a client misses such changes. */
export declare class FollowerNotProven extends Error {
  readonly report: FollowerReport;
}

/**
 * Proves that a client which follows changes has every record and no deleted one, whatever happens: changes that come late, twice,
 * undated, dated back or ahead, deletions, records made again, erased customers, a moved timezone_offset, a rebuild, a rollback, retried
 * dead letters, and the client itself and the API's services killed.
 * @throws {FollowerNotProven} where the copy is wrong in the end.
 * @throws {Error} where the client ends again and again, or prints no copy.
 */
export function proveFollower(options: ProofOptions): Promise<FollowerReport>;
