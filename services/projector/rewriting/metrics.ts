/** What is counted of rewriting; every projector process shows the same of what is left in one generation. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface RewritingMetrics {
  rewritten: Counter<'environment' | 'generation'>;
  storesLeft: Gauge<'environment' | 'generation'>;
  recordsLeft: Gauge<'environment' | 'generation'>;
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
  };
}
