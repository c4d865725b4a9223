// The operators' command line with the trial's small rank trees: `verify` knows how large leaves may be.
import { withSmallTrees } from '#test/small-trees.ts';
import { SMALL_TREES } from './small-trees.ts';

withSmallTrees(...SMALL_TREES);
await import('../../services/admin/main.ts');
