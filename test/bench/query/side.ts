/** The two sides of the comparison, and the stores' tokens that both accept. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Guard } from '#local/stack/program/guard.ts';
import type { Installation } from '#test/installation.ts';
import { startService } from '../service.ts';

const QUERY = new URL('../../../services/query/main.ts', import.meta.url);
const PACKAGE = new URL('../../../package.json', import.meta.url);
const USUAL_WAY = new URL('../usual-way/main.ts', import.meta.url);

export interface Sides {
  ours: string;
  /** The process of our side. */
  ourPid: number;
  usualWay: string;
}

/** Starts both as processes of their own. */
export async function startSides(
  { env }: Installation,
  folder: string,
  guard: Guard,
  cleanup: AsyncDisposableStack,
): Promise<Sides> {
  const start = async (name: string, file: URL, flags: string[] = []) => {
    const service = await startService({ name, file: fileURLToPath(file), env, folder, guard, flags });
    cleanup.defer(service.stop);
    if (service.url === null) throw new Error(`${name} does not say where it listens`);
    return { url: service.url, pid: service.pid };
  };
  const ours = await start('query', QUERY, await productionFlags());
  const usualWay = await start('usual-way', USUAL_WAY);
  return { ours: ours.url, ourPid: ours.pid, usualWay: usualWay.url };
}

/** What `npm run start:query` tells Node. */
async function productionFlags(): Promise<string[]> {
  const { scripts } = JSON.parse(await readFile(PACKAGE, 'utf8')) as { scripts: Record<string, string> };
  return (scripts['start:query'] ?? '').split(' ').filter((word) => word.startsWith('--'));
}
