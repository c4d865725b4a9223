/** The closed set of our errors, and the one place that classifies errors of libraries. */
import {
  MongoError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoServerError,
} from 'mongodb';
import { withoutCredentials } from './address.ts';

export type ErrorCode =
  /** The environment variables do not make a configuration. */
  | 'config_invalid'
  /** A server that we need cannot be reached, or does not answer in time. */
  | 'environment_unavailable'
  /** A server refuses our user, or what it asked for. */
  | 'not_authorized'
  /** Another consumer owns the partition now: nothing was changed. */
  | 'fenced'
  /** A topic is missing or configured so that events would be lost. */
  | 'topic_unsuitable'
  /** The log no longer holds the events that follow the checkpoint. */
  | 'history_lost'
  /** A record batch cannot be read: the log is corrupt, or newer than this release. */
  | 'batch_unreadable'
  /** A generation or its marker is not what this release expects. */
  | 'generation_unsuitable'
  /** Redis or MongoDB run with settings under which promises cannot be kept. */
  | 'server_unsuitable'
  /** Nothing has the given name. */
  | 'not_found'
  /** An operator's command cannot be carried out as given. */
  | 'command_invalid';

/**
 * An error with a stable code; `cause` is what led to it. Messages never hold secrets or personal
 * data.
 */
export class StoreDataError extends Error {
  override readonly name = 'StoreDataError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(withoutCredentials(message), options);
    this.code = code;
  }
}

export const commandInvalid = (message: string, cause?: unknown) =>
  new StoreDataError('command_invalid', message, { cause });

export const unavailable = (message: string, cause?: unknown) =>
  new StoreDataError('environment_unavailable', message, { cause });

export const notFound = (message: string) => new StoreDataError('not_found', message);

const NETWORK_CODES = new Set(
  'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN'.split(
    ' ',
  ),
);

/** MongoDB's codes: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
type Reasons = ReadonlyMap<unknown, string>;

/**
 * What names the data of a write. Of MongoDB's errors, only these can be the fault of a message.
 */
const DATA_ERRORS: Reasons = new Map([
  [15, 'Overflow: a number leaves its range'],
  [121, 'DocumentValidationFailure: a validator of the collection refuses the document'],
  [257, 'TransactionTooLarge: one event writes more than a transaction may hold'],
  [10_334, 'BSONObjectTooLarge: a document would have more than 16 MiB'],
  [11_000, 'DuplicateKey: a document with this key exists'],
  [17_280, 'KeyTooLong: a value does not fit into an index'],
  [17_419, 'the document would have more than 16 MiB after an update'],
  [17_420, 'the document of an upsert would have more than 16 MiB'],
]);

/**
 * What names the command, or the indexes that it needs: a mistake of ours, which no waiting mends.
 */
const COMMAND_ERRORS: Reasons = new Map([
  [2, 'BadValue'],
  [9, 'FailedToParse'],
  [14, 'TypeMismatch'],
  [40, 'ConflictingUpdateOperators'],
  [52, 'DollarPrefixedFieldName'],
  [59, 'CommandNotFound'],
  [67, 'CannotCreateIndex'],
  [72, 'InvalidOptions'],
  [73, 'InvalidNamespace'],
  [85, 'IndexOptionsConflict'],
  [86, 'IndexKeySpecsConflict'],
  [115, 'CommandNotSupported'],
  [146, 'ExceededMemoryLimit'],
  [168, 'InvalidPipelineOperator'],
  [263, 'OperationNotSupportedInTransaction'],
  [292, 'QueryExceededMemoryLimitNoDiskUseAllowed'],
]);

/**
 * From here on MongoDB numbers the places of its code that refuse a command, but for the states of
 * a server that are named below.
 */
const FIRST_LOCATION = 10_000;
const SERVER_STATES: Reasons = new Map([
  [10_058, 'LegacyNotPrimary'],
  [10_107, 'NotWritablePrimary'],
  [11_600, 'InterruptedAtShutdown'],
  [11_601, 'Interrupted'],
  [11_602, 'InterruptedDueToReplStateChange'],
  [13_388, 'StaleConfig'],
  [13_435, 'NotPrimaryNoSecondaryOk'],
  [13_436, 'NotPrimaryOrSecondary'],
  [14_031, 'OutOfDiskSpace'],
  [17_507, 'a member is not in a state to answer'],
  [50_915, 'BackupCursorOpenConflictWithCheckpoint'],
]);

const MONGODB_UNAUTHORIZED = 13;
const MONGODB_AUTHENTICATION_FAILED = 18;

/** Labels count before codes. */
const PASSING_MONGODB_LABELS = [
  'SystemOverloadedError',
  'RetryableError',
  'TransientTransactionError',
  'UnknownTransactionCommitResult',
  'RetryableWriteError',
];

/** Errors that the driver itself throws. */
const PASSING_MONGODB_NAMES = new RegExp(
  '^Mongo(?:ServerSelection|NetworkTimeout|OperationTimeout|WaitQueueTimeout|PoolCleared|PoolClosed|ClientClosed|' +
    'NotConnected|TopologyClosed|ServerClosed|ExpiredSession|Transaction|StalePrimary|UnexpectedServerResponse)',
);

/**
 * Whether an error of MongoDB or its driver is one of a server's state: whatever names neither the
 * data, the command nor our rights.
 */
function isStateOfMongodb(error: MongoError): boolean {
  if (PASSING_MONGODB_LABELS.some((label) => error.hasErrorLabel(label))) return true;
  if (!(error instanceof MongoServerError)) {
    return error instanceof MongoNetworkError || PASSING_MONGODB_NAMES.test(error.name);
  }
  const { code } = error;
  if (code === MONGODB_UNAUTHORIZED || code === MONGODB_AUTHENTICATION_FAILED) return false;
  if (DATA_ERRORS.has(code) || COMMAND_ERRORS.has(code)) return false;
  return typeof code !== 'number' || code < FIRST_LOCATION || SERVER_STATES.has(code);
}

/** The driver wraps the error that ends a bulk write, without the labels of a lost connection. */
function unwrapped(error: unknown): unknown {
  return error instanceof MongoServerError && error.errorResponse instanceof Error
    ? error.errorResponse
    : error;
}

/**
 * Whether an error can be the fault of the message that was being applied: an error of MongoDB that
 * names the data, or one of our own code. All others are states of a server, which pass or are
 * mended: the message waits.
 */
export function canBeFaultOfMessage(wrapping: unknown): boolean {
  const error = unwrapped(wrapping);
  if (!(error instanceof Error) || error instanceof StoreDataError) return false;
  if (error instanceof MongoServerError)
    return DATA_ERRORS.has(error.code) && !isStateOfMongodb(error);
  // A document that the driver refuses to send.
  if (error instanceof MongoError) return error instanceof MongoInvalidArgumentError;
  return !isUnavailable(error) && !isRefusal(error);
}

/**
 * Messages of ioredis and Redis that mean "not now" rather than "not so". EXECABORT hides its
 * reason, which is one of the others. MOVED and ASK: another node holds the key now. Redis 6 wraps
 * what a script meets. ioredis ends what is no RESP with "Please report this".
 */
const REDIS_UNAVAILABLE = [
  /^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|NOREPLICAS|MISCONF|OOM|BUSY|EXECABORT)\b/,
  /Command timed out|Command aborted due to connection close|Socket timeout|Connection is closed|Stream isn't writeable/,
  /Redis connection is not ready|Reached the max retries|connect ETIMEDOUT|Unknown RESP type|Please report this/,
  /^ERR Error running script .* -(?:READONLY|NOREPLICAS|MISCONF|OOM)\b/,
  /[Ss]cript attempted to (?:access a non local key|execute a (?:write )?command while the cluster is down)/,
];

/**
 * Whether a server is away, frozen, full or between primaries, so that the same work may succeed
 * later.
 */
export function isUnavailable(wrapping: unknown): boolean {
  const error = unwrapped(wrapping);
  if (error instanceof StoreDataError) return error.code === 'environment_unavailable';
  if (!(error instanceof Error)) return false;
  if (error instanceof MongoError) return isStateOfMongodb(error);
  if (error.name.startsWith('KafkaJS') && 'retriable' in error) {
    return (
      error.retriable === true ||
      /Connection|BrokerNotFound|CoordinatorNotFound|NumberOfRetriesExceeded|NoBrokerAvailable|RequestTimeout/.test(
        error.name,
      ) ||
      // kafkajs wraps the error that ends its retries.
      (error.name === 'KafkaJSNonRetriableError' && isUnavailable(error.cause))
    );
  }
  if ('code' in error && typeof error.code === 'string' && NETWORK_CODES.has(error.code))
    return true;
  return (
    REDIS_UNAVAILABLE.some((message) => message.test(error.message)) ||
    error.name === 'MaxRetriesPerRequestError'
  );
}

const KAFKA_REFUSALS: ReadonlyMap<unknown, string> = new Map([
  ['TOPIC_AUTHORIZATION_FAILED', 'the user needs a right on the topic'],
  ['GROUP_AUTHORIZATION_FAILED', 'the user needs a right on the consumer group'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'the user needs a right on the cluster'],
]);

const WRONG_USER = 'the user or its password is wrong';
// The check of a connection, and sentinels, put words before it.
const REDIS_NO_RIGHT = /\bNOPERM\b/;
const REDIS_WRONG_USER = /\b(?:WRONGPASS|NOAUTH)\b|^ERR invalid password/;
const TLS_REFUSAL = /certificate|SSL routines/;

/** Which server refuses our user, and what the user needs; `null` for any other error. */
export function refusalOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof StoreDataError && error.code === 'not_authorized') return error.message;
  const refused = (server: string, needed: string) =>
    `not authorized by ${server}: ${messageOf(error)}; ${needed} (docs/deploying.md, "A user for each process")`;
  // Kafka has errors with these codes too.
  if (error instanceof MongoServerError && error.code === MONGODB_UNAUTHORIZED)
    return refused('MongoDB', 'the user needs a role that allows it');
  if (error instanceof MongoServerError && error.code === MONGODB_AUTHENTICATION_FAILED)
    return refused('MongoDB', WRONG_USER);
  if (error.name === 'KafkaJSSASLAuthenticationError') return refused('Kafka', WRONG_USER);
  const lacked = 'type' in error ? KAFKA_REFUSALS.get(error.type) : undefined;
  if (lacked !== undefined) return refused('Kafka', lacked);
  if (REDIS_NO_RIGHT.test(error.message))
    return refused('Redis', 'the user needs a right to that command');
  if (REDIS_WRONG_USER.test(error.message)) return refused('Redis', WRONG_USER);
  for (const inner of innerErrors(error)) {
    const refusal = refusalOf(inner);
    if (refusal !== null) return refusal;
  }
  return null;
}

/** The errors that an error wraps: its cause, and those in other properties of the libraries. */
function innerErrors(error: Error): unknown[] {
  const listOf = (value: unknown) => (Array.isArray(value) ? (value as unknown[]) : []);
  const { errors, groups, previousErrors, errorResponse } = error as Partial<
    Record<string, unknown>
  > &
    Error;
  // kafkajs lists each group that could not be deleted.
  const ofGroups = listOf(groups).map((group) => (group as { error?: unknown }).error);
  return [error.cause, errorResponse, ...listOf(errors), ...ofGroups, ...listOf(previousErrors)];
}

export function asFailure(error: unknown): { code: ErrorCode; message: string } {
  if (error instanceof StoreDataError) return error;
  const refusal = refusalOf(error);
  if (refusal !== null) return { code: 'not_authorized', message: refusal };
  return { code: 'environment_unavailable', message: describeError(error) };
}

/**
 * Whether a server refuses our user, or one side of TLS the other: a setting is wrong, and waiting
 * does not help.
 */
export function isRefusal(error: unknown): boolean {
  return refusalOf(error) !== null || (error instanceof Error && TLS_REFUSAL.test(error.message));
}

/** Whether an error of MongoDB or Node has one of some codes. */
export function hasCode(error: unknown, ...codes: unknown[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(error.code);
}

const WRITE_CONFLICT = 112;

export function isWriteConflict(error: unknown): boolean {
  return hasCode(error, WRITE_CONFLICT);
}

/** Whether something did not fit into a document of MongoDB, which has 16 MiB at most. */
export function isDocumentTooLarge(error: unknown): boolean {
  return hasCode(error, 10_334, 4_568);
}

/** For logs: without stack, arguments, credentials, and stored or requested values. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const cause = error.cause === undefined ? '' : ` (${describeError(error.cause)})`;
  return `${error.name}: ${messageOf(error)}${cause}`;
}

/** The frames of an error's stack, without its message: `describeError` makes that safe. */
export function framesOf(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const at = stack.search(/^ +at /m);
  return at === -1 ? undefined : withoutCredentials(stack.slice(at));
}

/**
 * Cuts quotes: MongoDB quotes commands and keys, and parsers their text, which may hold personal
 * data.
 */
function messageOf(error: Error): string {
  const message = withoutCredentials(error.message);
  const mayQuote = error instanceof MongoServerError || error instanceof SyntaxError;
  return mayQuote ? message.replace(/\s*["'`{/][^]*$/, ' …') : message;
}
