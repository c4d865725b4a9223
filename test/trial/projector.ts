// The projector with rank trees so small that a handful of records splits and merges their leaves, erasures in pieces, and a death inside a transaction.
import { killInTransaction } from '#test/killed-in-transaction.ts';
import { withSmallErasures } from '#test/small-erasures.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { SMALL_TREES } from './small-trees.ts';

withSmallTrees(...SMALL_TREES);
withSmallErasures();
killInTransaction();
await import('#projector/main.ts');
