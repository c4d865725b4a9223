/** Every metric of the services, by the names under which Prometheus stores it. */
import { createMetrics as createProjectorMetrics } from '#projector/metrics.ts';
import { createMetrics as createQueryMetrics } from '#query/metrics.ts';

/** The labels of each metric, without those that Prometheus adds; a histogram has three names. */
export function knownMetrics(): Map<string, Set<string>> {
  const known = new Map<string, Set<string>>();
  for (const { registry } of [createProjectorMetrics(), createQueryMetrics()]) {
    for (const metric of registry.getMetricsAsArray()) {
      const { name, type, labelNames = [] } = metric as unknown as Metric;
      if (type === 'histogram') known.set(`${name}_bucket`, new Set([...labelNames, 'le']));
      for (const ending of type === 'histogram' ? ['_count', '_sum'] : [''])
        known.set(name + ending, new Set(labelNames));
    }
  }
  return known;
}

interface Metric {
  name: string;
  type: string;
  labelNames?: string[];
}
