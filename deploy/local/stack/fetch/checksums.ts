// Compares files with a committed list of their SHA-256 sums, in the format of sha256sum.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * The names of the files in `folder` that are missing or differ from the list; none when all is as committed.
 * sha256sum does it on a core of its own, while this process goes on starting the other servers.
 */
export async function findDamaged(folder: string, listFile: string): Promise<string[]> {
  try {
    await run('sha256sum', ['--check', '--quiet', '--strict', listFile], {
      cwd: folder,
      // The words below are not to be translated.
      env: { ...process.env, LC_ALL: 'C' },
    });
    return [];
  } catch (error) {
    const damaged = namesIn(outputOf(error));
    if (damaged.length === 0) throw error;
    return damaged;
  }
}

function outputOf(error: unknown): string {
  if (error instanceof Error && 'stdout' in error && typeof error.stdout === 'string') return error.stdout;
  return '';
}

function namesIn(output: string): string[] {
  return [...output.matchAll(/^(.+): FAILED(?: open or read)?$/gm)].flatMap(([, name]) => name ?? []);
}
