// The projector with rank trees so small that a handful of records splits and merges their leaves.
import { runProjector } from '#projector/run.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { SMALL_TREES } from './small-trees.ts';

withSmallTrees(...SMALL_TREES);
await runProjector();
