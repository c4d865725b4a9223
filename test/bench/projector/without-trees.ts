/** The projector as it would be without rank trees: only to measure what they cost, and so no setting of the product. */
import { runProjector } from '#projector/run.ts';

await runProjector({ keepsTrees: false });
