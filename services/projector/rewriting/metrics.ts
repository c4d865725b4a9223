/** What is counted of rewriting; every projector process shows the same of what is left in one generation. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface RewritingMetrics {
  rewritten: Counter<'environment' | 'generation'>;
  storesLeft: Gauge<'environment' | 'generation'>;
  recordsLeft: Gauge<'environment' | 'generation'>;
  erased: Counter<'environment' | 'generation'>;
  erasures: Gauge<'environment' | 'generation'>;
  oldestErasureSeconds: Gauge<'environment' | 'generation'>;
}

/** Makes these metrics in a process's registry. */
export function createRewritingMetrics(registry: Registry): RewritingMetrics {
  const shared = { labelNames: ['environment', 'generation'] as const, registers: [registry] };
  return {
    rewritten: new Counter({
      name: 'store_data_bodies_rewritten_total',
      help: 'Documents whose bodies were made for the present offset of their store, which had moved',
      ...shared,
    }),
    storesLeft: new Gauge({
      name: 'store_data_rewriting_stores',
      help: 'Stores whose offset has moved and whose bodies are not all made for the present one',
      ...shared,
    }),
    recordsLeft: new Gauge({
      name: 'store_data_rewriting_records',
      help: 'Records of such stores that are not looked at yet',
      ...shared,
    }),
    erased: new Counter({
      name: 'store_data_documents_erased_total',
      help: 'Orders and reviews from which the data of a deleted customer was removed behind the deletion, in pieces',
      ...shared,
    }),
    erasures: new Gauge({
      name: 'store_data_erasures',
      help: 'Deleted customers of whom something is still stored, though it is not shown',
      ...shared,
    }),
    oldestErasureSeconds: new Gauge({
      name: 'store_data_erasures_oldest_seconds',
      help: 'For how long the oldest of these erasures has been under way',
      ...shared,
    }),
  };
}
