/** Starts the projector as a process of its own. */
import { runProjector } from './run.ts';

await runProjector();
