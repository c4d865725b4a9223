/** What every process measures of itself: Node's own figures, and which release it is. */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
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
