/** All drills, in the order in which they run. */
import type { Drill } from './drill.ts';
import { ACCESS } from './drills/access.ts';
import { EVENTS } from './drills/events.ts';
import { GENERATIONS } from './drills/generations.ts';
import { KAFKA } from './drills/kafka.ts';
import { MONGODB } from './drills/mongodb.ts';
import { SERVICES } from './drills/services.ts';

export const DRILLS: readonly Drill[] = [
  ...SERVICES,
  ...ACCESS,
  ...EVENTS,
  ...KAFKA,
  ...GENERATIONS,
  ...MONGODB,
];
