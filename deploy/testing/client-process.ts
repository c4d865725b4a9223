/** Starts and kills a client under test, a program in any language, and reads its copy. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type GuardedProcess, lastLines, startGuard, startGuarded } from '#local/stack/process.ts';
import { describeExit } from '#local/stack/program.ts';
import type * as Api from './api.d.ts';

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

export type ClientProcess = Awaited<ReturnType<typeof startClient>>;

/**
 * Starts the client, which `cleanup` ends, and restarts it whenever it ends by itself, like a
 * supervisor.
 */
export async function startClient(
  { command, print = [...command, '--print'], cwd, env: given }: Api.ProofOptions,
  { url }: Api.StoreData,
  { clientId, clientSecret }: Api.Key,
  cleanup: AsyncDisposableStack,
) {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-follower-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const guard = startGuard();
  cleanup.defer(() => guard.close());
  const logFile = join(folder, 'client.log');
  const variables = {
    BASE_URL: url,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    COPY: join(folder, 'copy'),
  };
  const env = { ...process.env, ...given, ...variables };
  const ends: string[] = [];
  let running: GuardedProcess | null = null;

  const start = async (): Promise<void> => {
    const [file = '', ...args] = command;
    running = await startGuarded(
      guard,
      { file, args, env, ...(cwd !== undefined && { cwd }) },
      logFile,
    );
    void watch(running);
  };
  const watch = async (started: GuardedProcess): Promise<void> => {
    const exit = await started.exited;
    await sleep(RESTART_PAUSE_MS);
    if (running !== started) return;
    ends.push(describeExit(exit));
    if (ends.length <= MAX_ENDS) await start();
  };
  /** Kills it; the data that it stored stays. */
  const kill = async (): Promise<void> => {
    const killed = running;
    running = null;
    await killed?.stop(0);
  };
  await start();
  cleanup.defer(kill);

  return {
    start,
    kill,

    /** @throws {Error} with its last lines if it ended by itself too often. */
    assertRunning(): void {
      if (ends.length <= MAX_ENDS) return;
      const words = lastLines(logFile).map((line) => `\n    ${line}`);
      throw new Error(`the client ended ${MAX_ENDS + 1} times (${ends.at(-1)}):${words.join('')}`);
    },

    /** Its copy, by kind and id. @throws {Error} if it prints none. */
    async readCopy(): Promise<Map<string, CopiedRecord>> {
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
    },
  };
}

function readPrinted(line: string, number: number): CopiedRecord {
  try {
    const printed = JSON.parse(line) as Partial<CopiedRecord>;
    const { kind, id, record } = printed;
    if (
      typeof kind === 'string' &&
      typeof id === 'string' &&
      typeof record === 'object' &&
      record !== null
    ) {
      return printed as CopiedRecord;
    }
  } catch {
    // The error below shows the line.
  }
  const wanted = '{"kind": "order", "id": "o1", "record": {…}}';
  throw new Error(
    `line ${number} of the printed copy is not of the form ${wanted}: ${line.slice(0, 200)}`,
  );
}
