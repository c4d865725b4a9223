/**
 * The connection to Redis: what is asked in one turn of the event loop travels together, and has one time limit. ioredis'
 * own auto-pipelining and `commandTimeout` do the same for each command by itself: a timer and three promises that
 * cost more than all else it does (decision 0025).
 */
import type { Socket } from 'node:net';
import { type Command, Redis, type RedisOptions } from 'ioredis';
import { activeSpan, errorType } from './tracing.ts';

/** Emits `moved` when it is told that another node of its cluster holds a key. */
export class RedisConnection extends Redis {
  readonly #timeoutMs: number;
  readonly #answered: (seconds: number) => void;
  /** The commands of this turn, oldest first. */
  #turn: Command[] = [];
  #turnEnds = false;
  #corked: Socket | null = null;

  /**
   * @param timeoutMs after which a command fails that Redis has not answered.
   * @param answered is told how long the commands of a turn took, together.
   */
  constructor(
    url: string,
    timeoutMs: number,
    options: Omit<RedisOptions, 'commandTimeout' | 'replyMapping'>,
    answered: (seconds: number) => void = () => undefined,
  ) {
    super(url, options);
    this.#timeoutMs = timeoutMs;
    this.#answered = answered;
    // Asked about each error that Redis answers: so that no command that succeeds costs anything for it.
    this.options.reconnectOnError = (error) => {
      if (error.message.startsWith('MOVED ')) this.emit('moved');
      return false;
    };
  }

  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    this.#scheduleEnd();
    this.#turn.push(args[0]);
    traceCommand(args[0]);
    if (this.#corked === null && this.status === 'ready') {
      this.#corked = this.stream;
      this.#corked.cork();
    }
    return super.sendCommand(...args);
  }

  #scheduleEnd(): void {
    if (this.#turnEnds) return;
    this.#turnEnds = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = () => {
    const commands = this.#turn;
    this.#turn = [];
    this.#turnEnds = false;
    this.#corked?.uncork();
    this.#corked = null;
    if (commands.length === 0) return;
    const timer = setTimeout(() => {
      // It means nothing to those that are answered.
      for (const command of commands) command.reject(new Error('Command timed out'));
    }, this.#timeoutMs);
    const sent = performance.now();
    // Redis answers in order.
    const answered = () => {
      clearTimeout(timer);
      this.#answered((performance.now() - sent) / 1_000);
    };
    commands.at(-1)?.promise.then(answered, answered);
  };
}

/** Its name alone: keys hold the ids of sessions. */
function traceCommand({ name, promise }: Command): void {
  const parent = activeSpan();
  if (parent === undefined) return;
  const operation = name.toUpperCase();
  const span = parent.child(operation, 'client', {
    'db.system.name': 'redis',
    'db.operation.name': operation,
  });
  promise.then(
    () => span.end(),
    (error: unknown) => span.end(errorType(error)),
  );
}
