/** The options that benchmarks share. */
import { type Command, InvalidArgumentError, Option } from 'commander';

/** Reads a whole number from `least` on. */
export function atLeast(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least}.`);
  };
}

const numberOf = (name: string, meaning: string, usual: number) =>
  new Option(`--${name} <number>`, meaning).argParser(atLeast(1)).default(usual);

export const connectionsOption = (): Option =>
  numberOf('connections', 'connections that ask at the same time', 20);

export const secondsOption = (usual: number): Option =>
  numberOf('seconds', 'length of one measurement', usual);

/** @param of what is measured in turn. */
export const roundsOption = (usual: number, of = 'of each side, taken in turn'): Option =>
  numberOf('rounds', `measurements ${of}`, usual);

export const jsonOption = (): Option => new Option('--json', 'print the result as JSON');

/** How a result is shown. */
export function addShowing(command: Command): Command {
  return command.addOption(jsonOption()).option('--write-docs', 'put the result into docs/benchmarks.md');
}
