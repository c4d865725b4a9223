/** The metrics of every process: Node's own, and the release. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { RELEASE } from './release.ts';

/** The longest that a timer can wait. */
const NEVER_MS = 2 ** 31 - 1;

/** Measured by a timer a hundred times a second, which is most of the cost of an idle process. */
const LAGS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (figure) => `nodejs_eventloop_lag_${figure}_seconds`,
);

export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  for (const lag of LAGS) registry.removeSingleMetric(lag);
  const busy: Counter = new Counter({
    name: 'store_data_event_loop_busy_seconds_total',
    help: 'Seconds in which the event loop was busy; if it always is, the process cannot keep up',
    registers: [],
    collect() {
      busy.reset();
      busy.inc(performance.eventLoopUtilization().active / 1_000);
    },
  });
  registry.registerMetric(busy);
  new Gauge({
    name: 'store_data_build_info',
    help: '1, with the release of this process',
    labelNames: ['version', 'projection_version', 'node'],
    registers: [registry],
  }).set({ version: RELEASE.version, projection_version: String(RELEASE.projectionVersion), node: RELEASE.node }, 1);
  return registry;
}

export function metricFactory(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter<L>({ name, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Gauge<L>({ name, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, buckets: number[], labelNames: readonly L[] = []) =>
      new Histogram<L>({ name, help, labelNames, buckets, registers }),
  };
}
