/** The projector as a process that kills itself inside a transaction. */
import { runProjector } from '#projector/run.ts';
import { killInTransaction } from './killed-in-transaction.ts';

killInTransaction();
await runProjector();
