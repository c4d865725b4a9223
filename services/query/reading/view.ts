/** What one request reads from: the records of one store in one generation, until the deadline of the request. */
import type { SharedReads } from './shared-reads.ts';
import type { Source } from './snapshot.ts';

export interface View extends Source {
  storeId: string;
  /** Of the same generation. */
  shared: SharedReads;
  /** Whether records are read together with the erasures that are under way (`masking.ts`). */
  masks: boolean;
}
