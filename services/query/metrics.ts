/** What the query service measures. No label ever holds an id of a store or a person. */
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface QueryMetrics {
  registry: Registry;
  /** Seconds from a request's arrival to the end of its answer. */
  requestSeconds: Histogram<'route' | 'method' | 'status'>;
}

/** Makes the metrics of one query service. */
export function createMetrics(): QueryMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    requestSeconds: new Histogram({
      name: 'store_data_request_seconds',
      help: 'Seconds from the arrival of a request to the end of its answer',
      labelNames: ['route', 'method', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers: [registry],
    }),
  };
}
