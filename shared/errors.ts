/**
 * The closed set of errors this system raises itself, and the one place where errors of
 * foreign libraries are recognised: those that may pass, and the few that are answered in a way of their own.
 */
import kafkajs from 'kafkajs';
import { MongoError, MongoNetworkError, MongoServerError } from 'mongodb';
import { withoutCredentials } from './address.ts';

export type ErrorCode =
  /** The environment variables do not make a configuration. */
  | 'config_invalid'
  /** A server that we need cannot be reached, or does not answer in time. */
  | 'environment_unavailable'
  /** Another consumer owns the partition now: nothing was changed. */
  | 'fenced'
  /** The wall clock was set back so far that heartbeats would stop. */
  | 'clock_set_back'
  /** A topic is missing or configured so that events would be lost. */
  | 'topic_unsuitable'
  /** The log no longer holds the events that follow the checkpoint. */
  | 'history_lost'
  /** A record batch cannot be read: the log is corrupt, or newer than this release. */
  | 'batch_unreadable'
  /** A generation, its marker or an index is not what this release expects. */
  | 'generation_unsuitable'
  /** Redis or MongoDB run with settings under which promises cannot be kept. */
  | 'server_unsuitable'
  /** Nothing has the given name. */
  | 'not_found'
  /** An operator's command cannot be carried out as given. */
  | 'command_invalid';

/** An error with a stable code; `cause` is what led to it. Messages never hold secrets or personal data. */
export class StoreDataError extends Error {
  override readonly name = 'StoreDataError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(withoutCredentials(message), options);
    this.code = code;
  }
}

/** What refuses an operator's command. */
export const commandInvalid = (message: string) => new StoreDataError('command_invalid', message);

/** What says that nothing has the given name. */
export const notFound = (message: string) => new StoreDataError('not_found', message);

// kafkajs spreads its errors into its exports, where named imports cannot find them.
const { KafkaJSError } = kafkajs;

/** Codes of node:net and node:dns that say that a server cannot be reached now. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/**
 * MongoDB server codes that pass by themselves: elections, shutdowns, interruptions, conflicts,
 * exceeded times (https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml).
 */
const PASSING_MONGODB_CODES = new Set([
  6, 7, 24, 50, 63, 89, 91, 112, 133, 134, 150, 189, 202, 225, 234, 246, 251, 262, 290, 317, 358, 365, 384,
  402, 9001, 10107, 11600, 11601, 11602, 13388, 13435, 13436, 14031, 17507, 50915,
]);

/**
 * ioredis and Redis messages that mean "not now" rather than "not so". EXECABORT hides its reason, which is one of
 * the others: our own MULTIs are right. MOVED and ASK say that another node of a cluster holds a key now, or will. Redis 6 wraps what a library's script meets. ioredis ends what it cannot read as RESP with "Please report this".
 */
const REDIS_UNAVAILABLE =
  /^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|NOREPLICAS|MISCONF|OOM|BUSY|EXECABORT)\b|Command timed out|Command aborted due to connection close|Socket timeout|Connection is closed|Stream isn't writeable|Redis connection is not ready|Reached the max retries|connect ETIMEDOUT|Unknown RESP type|Please report this|^ERR Error running script .* -(?:READONLY|NOREPLICAS|MISCONF|OOM)\b|[Ss]cript attempted to (?:access a non local key|execute a (?:write )?command while the cluster is down)/;

/**
 * Whether an error says that a server is away, frozen, full or between primaries, so that the same
 * work may succeed later. Everything else is a mistake: in the request, the message or the program.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof StoreDataError) return error.code === 'environment_unavailable';
  if (!(error instanceof Error)) return false;
  if (error instanceof MongoServerError) {
    // The driver wraps whatever ends a bulk write, without the labels of a lost connection.
    if (error.errorResponse instanceof Error) return isUnavailable(error.errorResponse);
    return (
      (typeof error.code === 'number' && PASSING_MONGODB_CODES.has(error.code)) ||
      error.hasErrorLabel('TransientTransactionError') ||
      error.hasErrorLabel('UnknownTransactionCommitResult') ||
      error.hasErrorLabel('RetryableWriteError')
    );
  }
  if (error instanceof MongoNetworkError) return true;
  if (error instanceof MongoError) {
    return (
      /^Mongo(?:ServerSelection|NetworkTimeout|OperationTimeout|WaitQueueTimeout|PoolCleared|PoolClosed|NotConnected|TopologyClosed|ServerClosed|ExpiredSession|Transaction)/.test(
        error.name,
      ) ||
      error.hasErrorLabel('TransientTransactionError') ||
      error.hasErrorLabel('UnknownTransactionCommitResult')
    );
  }
  if (error instanceof KafkaJSError) {
    return (
      error.retriable ||
      /Connection|BrokerNotFound|CoordinatorNotFound|NumberOfRetriesExceeded|NoBrokerAvailable|RequestTimeout/.test(
        error.name,
      ) ||
      // What ends its retries is wrapped.
      (error.name === 'KafkaJSNonRetriableError' && isUnavailable(error.cause))
    );
  }
  if ('code' in error && typeof error.code === 'string' && NETWORK_CODES.has(error.code)) return true;
  return REDIS_UNAVAILABLE.test(error.message) || error.name === 'MaxRetriesPerRequestError';
}

const WRITE_CONFLICT = 112;

/** Whether another transaction wrote the same document of MongoDB at the same moment: a retry succeeds once that one has ended. */
export function isWriteConflict(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === WRITE_CONFLICT;
}

/** A document at its end, or on the way there. */
const DOCUMENT_TOO_LARGE = new Set<unknown>([10_334, 4_568]);

/** Whether something did not fit into the documents that MongoDB makes, of 16 MiB at most. */
export function isDocumentTooLarge(error: unknown): boolean {
  return error instanceof MongoServerError && DOCUMENT_TOO_LARGE.has(error.code);
}

/** Whether Kafka says that a group does not know its member any longer. */
export function isUnknownMember(error: unknown): error is Error {
  return error instanceof Error && 'type' in error && error.type === 'UNKNOWN_MEMBER_ID';
}

/**
 * A short description for logs: name and message, without stack, what it was called with, credentials of servers, and what was
 * stored or asked for.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const cause = error.cause === undefined ? '' : ` (${describeError(error.cause)})`;
  return `${error.name}: ${messageOf(error)}${cause}`;
}

/** Where an error was made; its message, with which a stack begins, is `describeError`'s to tell. */
export function framesOf(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const at = stack.search(/^ +at /m);
  return at === -1 ? undefined : withoutCredentials(stack.slice(at));
}

/** MongoDB quotes whole commands and keys, and parsers the text that they were given: there persons' data may stand. */
function messageOf(error: Error): string {
  const message = withoutCredentials(error.message);
  const mayQuote = error instanceof MongoServerError || error instanceof SyntaxError;
  return mayQuote ? message.replace(/\s*["'`{/][^]*$/, ' …') : message;
}
