/** `npm start`: the servers and all that runs on them; its end leaves nothing behind. */
import { readOptions, demandedPort, type StartOptions, USUAL_PORT } from './options.ts';
import { createScreen, type Screen, summary } from './screen.ts';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { startGuard } from '#local/stack/process.ts';
import type { Stack } from '#local/stack/stack.ts';
import { bringUp } from './bring-up.ts';
import { reasonOf, StackError } from '#local/stack/part.ts';
import { startStackOrExit, stopRequested } from './signals.ts';
import { signingKeyPath, stackFilePath, writeStackFile } from './files.ts';

async function run(options: StartOptions, screen: Screen): Promise<number> {
  const { folder, keepData } = options;
  const began = performance.now();
  const stop = stopRequested();
  const cleanup = new AsyncDisposableStack();
  const stopping = new AbortController();
  let stack: Stack | undefined;
  try {
    const port = await choosePort(demandedPort(options));
    stack = await startStackOrExit({ dataFolder: folder, keepData, log: screen.line }, stop);
    cleanup.defer(stack.stop);
    await rm(stackFilePath(folder), { force: true });

    const guard = startGuard();
    cleanup.defer(() => guard.close());
    cleanup.defer(async () => {
      await rm(stackFilePath(folder), { force: true });
      if (!keepData) await rm(signingKeyPath(folder), { force: true });
    });
    // Removed also if this process is killed.
    await guard.hold('path', stackFilePath(folder));
    if (!keepData) await guard.hold('path', signingKeyPath(folder));

    const serving = bringUp({
      options,
      port,
      stack,
      guard,
      screen,
      cleanup,
      stopping: stopping.signal,
    }).then(async (system) => {
      stopping.signal.throwIfAborted();
      await writeStackFile(folder, system.file);
      const seconds = (performance.now() - began) / 1_000;
      for (const line of summary(options, system.file, seconds)) screen.line(line);
      if (options.traffic) system.simulator.startTraffic();
      return null;
    });
    let isReady = false;
    const ended = Promise.race([
      stop.then(({ why, exitCode }) => ({
        message: `${why}: stopping`,
        exitCode: isReady ? 0 : exitCode,
      })),
      stack.failed.then(({ message }) => ({ message, exitCode: 1 })),
    ]);
    const early = await Promise.race([ended, serving]);
    isReady = early === null;
    const { message, exitCode } = early ?? (await ended);
    // Pending work is aborted below: its errors are ignored.
    serving.catch(() => undefined);
    stopping.abort();
    screen.live([]);
    screen.line(message);
    return exitCode;
  } catch (error) {
    if (!(error instanceof StackError)) throw error;
    screen.live([]);
    screen.line(error.message);
    if (stack !== undefined) screen.line(`Logs: ${stack.keepLogs()}`);
    return 1;
  } finally {
    stopping.abort();
    await cleanup.disposeAsync();
  }
}

/**
 * The port of the API: the demanded one, else the usual one, else (0) any. Called before anything is
 * started.
 * @throws {StackError} if the demanded one is taken.
 */
async function choosePort(demanded: number | null): Promise<number> {
  const port = demanded ?? USUAL_PORT;
  try {
    await using server = createServer().listen(port, process.env['QUERY_HOST'] || '127.0.0.1');
    await once(server, 'listening');
    return port;
  } catch (error) {
    if (demanded === null) return 0;
    throw new StackError(`the API cannot listen on port ${port}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

const options = readOptions(process.argv.slice(2));
// `npm start | head` closes our output; the stack continues.
process.stdout.on('error', () => undefined);
const screen = createScreen(process.stdout, Boolean(process.env['NO_COLOR']));
process.exit(await run(options, screen));
