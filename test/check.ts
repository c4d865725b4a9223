/**
 * Runs all `check:…` scripts of package.json in parallel and prints the output of each in one
 * piece. Fails if one fails.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as {
  scripts: Record<string, string>;
};

async function run(name: string): Promise<boolean> {
  const child = spawn('/bin/sh', ['-c', `exec 2>&1; ${scripts[name]}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, code] = await Promise.all([
    text(child.stdout),
    new Promise<number | null>((resolve, reject) => child.on('error', reject).on('exit', resolve)),
  ]);
  process.stdout.write(`${name}: ${code === 0 ? 'passed' : 'failed'}\n${output}`);
  return code === 0;
}

const names = Object.keys(scripts).filter((name) => name.startsWith('check:'));
const outcomes = await Promise.all(names.map(run));
process.exitCode = outcomes.every(Boolean) ? 0 : 1;
