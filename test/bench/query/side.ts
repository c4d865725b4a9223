/** The two sides of the comparison, and the stores' tokens that both accept. */
import { fileURLToPath } from 'node:url';
import type { Ground } from '../ground.ts';
import { serviceProgram } from '../programs.ts';
import type { RunningService } from '../service.ts';

const USUAL_WAY = fileURLToPath(new URL('../usual-way/main.ts', import.meta.url));

export interface Sides {
  ours: RunningService;
  usualWay: RunningService;
}

/** Starts both as processes of their own. */
export async function startSides({ start }: Pick<Ground, 'start'>): Promise<Sides> {
  return {
    ours: await start(await serviceProgram('query')),
    usualWay: await start({ name: 'usual-way', file: USUAL_WAY }),
  };
}
