// The projector with very small rank trees, erasures in pieces, and an optional kill inside a
// transaction.
import { killInTransaction } from '#test/killed-in-transaction.ts';
import { withSmallErasures } from '#test/small-erasures.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { SMALL_TREES } from './small-trees.ts';

withSmallTrees(...SMALL_TREES);
withSmallErasures();
killInTransaction();
await import('#projector/main.ts');
