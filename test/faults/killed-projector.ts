/** A projector that kills itself inside a transaction. */
import { killInTransaction } from '#test/killed-in-transaction.ts';

killInTransaction();
await import('#projector/main.ts');
