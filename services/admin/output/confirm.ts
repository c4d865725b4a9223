/** Asks before something is done that cannot be undone. */
import { createInterface } from 'node:readline/promises';
import { commandInvalid } from '#shared/errors.ts';
import { WrongUsage } from '../options.ts';

/**
 * To be called before anything is connected.
 * @param to what nobody can be asked about: `drop dead letters for good`.
 * @throws {WrongUsage} where there is nobody to ask, and `--yes` is not given.
 */
export function checkCanAsk({ yes }: { yes?: true | undefined }, to: string): void {
  if (yes || (process.stdin.isTTY && process.stderr.isTTY)) return;
  throw new WrongUsage(`nobody can be asked here: give --yes to ${to}`);
}

/** Asks, unless `--yes` is given. @throws {StoreDataError} `command_invalid` with `otherwise` when the answer is no. */
export async function askFor(
  { yes }: { yes?: true | undefined },
  question: string,
  otherwise: string,
): Promise<void> {
  if (!yes && !(await confirm(question))) throw commandInvalid(otherwise);
}

/** Asks on the terminal; anything but yes is no, the end of input too. */
async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new AbortController();
  terminal.on('close', () => closed.abort());
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: closed.signal });
    return /^y(?:es)?$/i.test(answer.trim());
  } catch {
    process.stderr.write('\n');
    return false;
  } finally {
    terminal.close();
  }
}
