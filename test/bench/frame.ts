/**
 * The frame of every benchmark: options, servers, cleanup even on a signal, and a result as text,
 * JSON or in docs/benchmarks.md.
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
import { rounded } from './median.ts';

export interface Machine {
  cores: number;
  memory_gib: number;
  cpu: string;
  node: string;
  mongodb: string;
}

/** The head of every result. */
export interface Head {
  benchmark: string;
  date: string;
  /** The command that repeats it. */
  command: string;
  machine: Machine;
  /** Load of other programs before it began. */
  load_average: number;
}

export interface Bench<O extends object, R extends object> {
  /** The name of the subcommand and of the section in docs/benchmarks.md. */
  name: string;
  description: string;
  options: readonly Option[];
  /** Additional settings of the services. */
  settings?: Record<string, string>;
  partitions?: number;
  run: (context: BenchContext, options: O) => Promise<R>;
  /** The result below its head. */
  render: (result: R & Head) => string;
  /** If it returns false, the exit code is 1. */
  holds?: (result: R) => boolean;
}

interface Showing {
  json?: true;
  writeDocs?: true;
}

export function addBench<O extends object, R extends object>(
  program: Command,
  bench: Bench<O, R>,
): void {
  const { name, description, options, settings = {}, partitions = 2 } = bench;
  const command = program.command(name).description(description);
  for (const option of options) command.addOption(option);
  command.option('--json', 'print the result as JSON');
  command.option('--write-docs', 'put the result into docs/benchmarks.md');
  command.action(async ({ json, writeDocs, ...given }: O & Showing) => {
    const load = rounded(loadavg()[0] ?? 0, 1);
    const result = await runToEnd(async (cleanup) => {
      const context = await prepareBench(cleanup, settings, partitions);
      const head: Head = {
        benchmark: name,
        date: new Date().toISOString().slice(0, 10),
        command: `npm run bench -- ${[name, ...wordsOf(given)].join(' ')}`,
        machine: await describeMachine(context.installation.mongodb),
        load_average: load,
      };
      // The remaining options are those that the benchmark declares.
      return { ...head, ...(await bench.run(context, given as unknown as O)) };
    });
    const text = `${headOf(result)}\n${bench.render(result)}`;
    process.stdout.write(`${json ? JSON.stringify(result, null, 2) : text.trimEnd()}\n`);
    if (writeDocs) await writeSection(name, text);
    if (bench.holds?.(result) === false) process.exit(1);
  });
}

function wordsOf(options: object): string[] {
  return Object.entries(options).map(([name, value]: [string, unknown]) => {
    const option = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (value === true) return option;
    return `${option} ${String(value).includes(' ') ? `'${String(value)}'` : String(value)}`;
  });
}

/** Runs the benchmark, and cleans up. On a signal the process exits. */
async function runToEnd<R extends object>(
  run: (cleanup: AsyncDisposableStack) => Promise<R>,
): Promise<R> {
  const cleanup = new AsyncDisposableStack();
  const running = run(cleanup);
  let ended: R | StopRequest;
  try {
    ended = await Promise.race([running, stopRequested()]);
  } finally {
    // The cleanup itself makes it reject.
    running.catch(() => undefined);
    await cleanup.disposeAsync();
  }
  if ('exitCode' in ended) process.exit(ended.exitCode);
  return ended;
}

async function describeMachine(mongodb: MongoClient): Promise<Machine> {
  const { version } = (await mongodb.db().admin().buildInfo()) as { version: string };
  return {
    cores: availableParallelism(),
    memory_gib: Math.ceil(totalmem() / 2 ** 30),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    node: process.version,
    mongodb: version,
  };
}

function headOf({ date, machine, load_average: load, command }: Head): string {
  const { cores, cpu, memory_gib: memory, node, mongodb } = machine;
  const where = `${cores} cores (${cpu}), ${memory} GiB, Node ${node}, MongoDB ${mongodb}`;
  return `Measured on ${date}: ${where}; load average ${load} when it began.\n\n\`${command}\`\n`;
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

export const connectionsOption = (): Option =>
  numberOption('connections', 'concurrent connections', 20);

export const secondsOption = (usual: number): Option =>
  numberOption('seconds', 'length of one measurement', usual);

export const roundsOption = (usual: number): Option =>
  numberOption('rounds', 'measurements of each side, taken in turn', usual);

/** A Markdown table with a left-aligned first column and right-aligned figures. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((_, column) =>
    Math.max(3, ...[titles, ...rows].map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? '';
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(titles), line(rule), ...rows.map(line), ''].join('\n');
}

/** A whole number with thousands separators. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
