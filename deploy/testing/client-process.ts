/** Starts and kills a client under test, a program in any language, and reads its copy. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Guard, type GuardedProcess, lastLines, startGuarded } from '#local/stack/process.ts';
import { describeExit } from '#local/stack/program.ts';

export interface ClientOptions {
  command: readonly string[];
  print: readonly string[];
  cwd: string | undefined;
  env: NodeJS.ProcessEnv;
  /** Holds the client's output. */
  folder: string;
  guard: Guard;
}

/** A record as the client prints it. */
export interface CopiedRecord {
  kind: string;
  id: string;
  record: Record<string, unknown>;
  timezone_offset?: string;
}

/** A client may end itself when the API does not answer for a moment. */
const MAX_ENDS = 10;
const RESTART_PAUSE_MS = 500;
const PRINT_LIMIT_MS = 60_000;
const MAX_PRINTED_BYTES = 2 ** 30;
const run = promisify(execFile);

export class ClientProcess {
  readonly #options: ClientOptions;
  readonly #logFile: string;
  #running: GuardedProcess | null = null;
  readonly #ends: string[] = [];

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#logFile = join(options.folder, 'client.log');
  }

  /** Starts it, and restarts it whenever it ends by itself, like a supervisor. */
  async start(): Promise<void> {
    const { command, cwd, env, guard } = this.#options;
    const [file = '', ...args] = command;
    const at = cwd === undefined ? {} : { cwd };
    const running = await startGuarded(guard, { file, args, env, ...at }, this.#logFile);
    this.#running = running;
    void this.#watch(running);
  }

  async #watch(running: GuardedProcess): Promise<void> {
    const exit = await running.exited;
    await sleep(RESTART_PAUSE_MS);
    if (this.#running !== running) return;
    this.#ends.push(describeExit(exit));
    if (this.#ends.length <= MAX_ENDS) await this.start();
  }

  /** Kills it; the data that it stored stays. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await running?.stop(0);
  }

  /** @throws {Error} with its last lines if it ended by itself too often. */
  assertRunning(): void {
    if (this.#ends.length <= MAX_ENDS) return;
    const words = lastLines(this.#logFile).map((line) => `\n    ${line}`);
    throw new Error(`the client ended ${MAX_ENDS + 1} times (${this.#ends.at(-1)}):${words.join('')}`);
  }

  /** Its copy, by kind and id. @throws {Error} if it prints none. */
  async readCopy(): Promise<Map<string, CopiedRecord>> {
    const { print, cwd, env } = this.#options;
    const [file = '', ...args] = print;
    const { stdout } = await run(file, args, {
      cwd,
      env,
      maxBuffer: MAX_PRINTED_BYTES,
      timeout: PRINT_LIMIT_MS,
    });
    const records = stdout
      .split('\n')
      .flatMap((line, index) => (line.trim() === '' ? [] : [readPrinted(line, index + 1)]));
    return new Map(records.map((record) => [`${record.kind}/${record.id}`, record]));
  }
}

function readPrinted(line: string, number: number): CopiedRecord {
  try {
    const printed = JSON.parse(line) as Partial<CopiedRecord>;
    const { kind, id, record } = printed;
    if (typeof kind === 'string' && typeof id === 'string' && typeof record === 'object' && record !== null) {
      return printed as CopiedRecord;
    }
  } catch {
    // The error below shows the line.
  }
  const wanted = '{"kind": "order", "id": "o1", "record": {…}}';
  throw new Error(`line ${number} of the printed copy is not of the form ${wanted}: ${line.slice(0, 200)}`);
}
