/** What every benchmark does around its measuring: it ends with all that it started, also at a signal, and shows its result. */
import { stopRequested, type StopRequest } from '#local/start/signals.ts';
import { writeSection } from './docs-section.ts';

/** How a result is shown; every benchmark has these options. */
export interface Showing {
  json?: true | undefined;
  writeDocs?: true | undefined;
}

export interface Presentation<R> extends Showing {
  /** Of the section of `docs/benchmarks.md`. */
  section: string;
  screen: (result: R) => string;
  markdown: (result: R) => string;
}

/** Runs, and ends everything that was started. At a signal the process ends, too. */
export async function runToEnd<R extends object>(
  run: (cleanup: AsyncDisposableStack) => Promise<R>,
): Promise<R> {
  const cleanup = new AsyncDisposableStack();
  const running = run(cleanup);
  let ended: R | StopRequest;
  try {
    ended = await Promise.race([running, stopRequested()]);
  } finally {
    // What ends it now are our own doings.
    running.catch(() => undefined);
    await cleanup.disposeAsync();
  }
  if ('exitCode' in ended) process.exit(ended.exitCode);
  return ended;
}

/** Shows a result on the screen: for people, or for machines. */
export function show({ json }: Showing, result: object, screen: string): void {
  process.stdout.write(`${json ? JSON.stringify(result, null, 2) : screen.trimEnd()}\n`);
}

/** Runs to the end, then shows the result, in the documentation too where that is asked for. */
export async function runAndPresent<R extends object>(
  run: (cleanup: AsyncDisposableStack) => Promise<R>,
  { section, screen, markdown, ...showing }: Presentation<R>,
): Promise<void> {
  const result = await runToEnd(run);
  show(showing, result, screen(result));
  if (showing.writeDocs) await writeSection(section, markdown(result));
}
