/** All drills, in the order in which they run. */
import type { Drill } from './drill.ts';
import { SERVICES } from './drills/services.ts';

export const DRILLS: readonly Drill[] = [...SERVICES];
