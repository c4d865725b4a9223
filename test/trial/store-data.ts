// The command line with the trial's small rank trees, since `verify` checks the size of leaves.
import { withSmallTrees } from '#test/small-trees.ts';
import { SMALL_TREES } from './small-trees.ts';

withSmallTrees(...SMALL_TREES);
await import('../../services/admin/main.ts');
