/**
 * The frame of every benchmark: options, servers, cleanup even on a signal, and a result in
 * Markdown for the terminal and docs/benchmarks.md.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { MongoClient } from 'mongodb';
import { format, resolveConfig } from 'prettier';
import { replaceSection } from '#admin/documents/documents.ts';
import { stopRequested, type StopRequest } from '#local/start/signals.ts';
import { wholeNumber } from '#test/options.ts';
import { type BenchContext, prepareBench } from './context.ts';

export interface Bench<O extends object> {
  /** The name of the subcommand and of the section in docs/benchmarks.md. */
  name: string;
  description: string;
  options: readonly Option[];
  /** Additional settings of the services. */
  settings?: Record<string, string>;
  partitions?: number;
  /** Measures, and returns the result in Markdown. */
  run: (context: BenchContext, options: O) => Promise<string>;
}

export function addBench<O extends object>(program: Command, bench: Bench<O>): void {
  const { name, description, settings = {}, partitions = 2 } = bench;
  const command = program.command(name).description(description);
  for (const option of bench.options) command.addOption(option);
  command.option('--write-docs', 'put the result into docs/benchmarks.md');
  command.action(async ({ writeDocs, ...options }: O & { writeDocs?: true }) => {
    const load = loadavg()[0]?.toFixed(1);
    const words = Object.entries(options).map(
      ([option, value]) => `--${option} ${JSON.stringify(value)}`,
    );
    const result = await runToEnd(async (cleanup) => {
      const context = await prepareBench(cleanup, settings, partitions);
      const machine = await describeMachine(context.installation.mongodb);
      // The remaining options are those that the benchmark declares.
      const measured = await bench.run(context, options as unknown as O);
      return `${machine}; load average ${load} when it began.\n\n\`npm run bench -- ${[name, ...words].join(' ')}\`\n\n${measured}`;
    });
    process.stdout.write(await format(result, { parser: 'markdown', printWidth: 1_000 }));
    if (writeDocs) await writeSection(name, result);
  });
}

/** Runs the benchmark, and cleans up. On a signal the process exits. */
async function runToEnd(run: (cleanup: AsyncDisposableStack) => Promise<string>): Promise<string> {
  const cleanup = new AsyncDisposableStack();
  const running = run(cleanup);
  let ended: string | StopRequest;
  try {
    ended = await Promise.race([running, stopRequested()]);
  } finally {
    // The cleanup itself makes it reject.
    running.catch(() => undefined);
    await cleanup.disposeAsync();
  }
  if (typeof ended !== 'string') process.exit(ended.exitCode);
  return ended;
}

async function describeMachine(mongodb: MongoClient): Promise<string> {
  const { version } = (await mongodb.db().admin().buildInfo()) as { version: string };
  const date = new Date().toISOString().slice(0, 10);
  const memory = Math.ceil(totalmem() / 2 ** 30);
  return `Measured on ${date}: ${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${memory} GiB, Node ${process.version}, MongoDB ${version}`;
}

/** Replaces the text between the marks of a section. */
async function writeSection(name: string, markdown: string): Promise<void> {
  const file = join(import.meta.dirname, '../../docs/benchmarks.md');
  const written = replaceSection(await readFile(file, 'utf8'), name, markdown);
  await writeFile(file, await format(written, { ...(await resolveConfig(file)), filepath: file }));
}

/** An option that takes a whole number. */
export function numberOption(name: string, meaning: string, usual: number, least = 1): Option {
  return new Option(`--${name} <number>`, meaning).argParser(wholeNumber(least)).default(usual);
}

export const secondsOption = (usual: number): Option =>
  numberOption('seconds', 'length of one measurement', usual);

export const roundsOption = (): Option =>
  numberOption('rounds', 'measurements of each side, taken in turn', 3);

/** A Markdown table with a left-aligned first column and right-aligned figures. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = titles.map((_, column) => (column === 0 ? '---' : '--:'));
  return [titles, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** A whole number with thousands separators. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
