/** What every process measures of itself: Node's own figures, and which release it is. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { RELEASE } from './release.ts';

/** Makes the registry of one process. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'store_data_build_info',
    help: '1, with the release of this process',
    labelNames: ['version', 'projection_version', 'node'],
    registers: [registry],
  }).set(
    { version: RELEASE.version, projection_version: String(RELEASE.projectionVersion), node: RELEASE.node },
    1,
  );
  return registry;
}

/** What makes metrics in a registry, each from its name, what it says, and its labels. */
export function makersIn(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, labelNames: L[] = []) =>
      new Counter<L>({ name, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, labelNames: L[] = []) =>
      new Gauge<L>({ name, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, buckets: number[], labelNames: L[] = []) =>
      new Histogram<L>({ name, help, labelNames, buckets, registers }),
  };
}
