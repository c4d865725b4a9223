/** Every metric of the services, by the names under which Prometheus stores it. */
import { createMetrics as createProjectorMetrics } from '#projector/metrics.ts';
import { createMetrics as createQueryMetrics } from '#query/metrics.ts';

/** The labels of each metric, without those that Prometheus adds; a histogram has three names. */
export function knownMetrics(): Map<string, Set<string>> {
  const known = new Map<string, Set<string>>();
  for (const { registry } of [createProjectorMetrics(), createQueryMetrics()]) {
    for (const metric of registry.getMetricsAsArray()) {
      const { name, type } = metric as unknown as { name: string; type: string };
      const { labelNames = [] } = metric as unknown as { labelNames?: string[] };
      if (type === 'histogram') {
        known.set(`${name}_bucket`, new Set([...labelNames, 'le']));
        known.set(`${name}_count`, new Set(labelNames));
        known.set(`${name}_sum`, new Set(labelNames));
      } else known.set(name, new Set(labelNames));
    }
  }
  return known;
}
