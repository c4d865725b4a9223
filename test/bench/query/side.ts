/** The two sides of the comparison, and the stores' tokens that both accept. */
import { fileURLToPath } from 'node:url';
import type { Ground } from '../ground.ts';
import { serviceProgram } from '../programs.ts';

const USUAL_WAY = fileURLToPath(new URL('../usual-way/main.ts', import.meta.url));

export interface Sides {
  ours: string;
  /** The process of our side. */
  ourPid: number;
  usualWay: string;
}

/** Starts both as processes of their own. */
export async function startSides({ start }: Pick<Ground, 'start'>): Promise<Sides> {
  const ours = await start(await serviceProgram('query'));
  const usualWay = await start({ name: 'usual-way', file: USUAL_WAY });
  return { ours: ours.url, ourPid: ours.pid, usualWay: usualWay.url };
}
