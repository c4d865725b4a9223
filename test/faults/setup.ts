/** Starts the shared servers, and prints every fault with its recovery time at the end. */
import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import startServers from '#test/global-setup.ts';
import { renderResults, RESULTS_FILE } from './results.ts';

export default async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-results-'));
  const file = join(folder, 'results');
  writeFileSync(file, '');
  process.env[RESULTS_FILE] = file;
  const stop = await startServers();
  return async () => {
    process.stdout.write(`\n${renderResults(file)}\n`);
    rmSync(folder, { recursive: true, force: true });
    await stop();
  };
}
