/** Runs a benchmark until it ends or a signal comes, ends everything that it started, and shows the result. */
import { stopRequested } from '#local/start/signals.ts';
import { writeSection } from './docs-section.ts';

export interface Presentation<R> {
  /** Of the section of `docs/benchmarks.md`. */
  section: string;
  json?: true | undefined;
  writeDocs?: true | undefined;
  screen: (result: R) => string;
  markdown: (result: R) => string;
}

export async function runAndPresent<R extends object>(
  run: (cleanup: AsyncDisposableStack) => Promise<R>,
  { section, json, writeDocs, screen, markdown }: Presentation<R>,
): Promise<void> {
  const cleanup = new AsyncDisposableStack();
  const running = run(cleanup);
  let ended: R | Awaited<ReturnType<typeof stopRequested>>;
  try {
    ended = await Promise.race([running, stopRequested()]);
  } finally {
    // What ends it now are our own doings.
    running.catch(() => undefined);
    await cleanup.disposeAsync();
  }
  if ('exitCode' in ended) process.exit(ended.exitCode);
  process.stdout.write(`${json ? JSON.stringify(ended, null, 2) : screen(ended)}\n`);
  if (writeDocs) await writeSection(section, markdown(ended));
}
