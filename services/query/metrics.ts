/** What the query service measures. No label ever holds an id of a store or a person. */
import { poolMetrics } from '#shared/mongodb-pool.ts';
import { createRegistry, makersIn } from '#shared/process-metrics.ts';
import { redisSecondsIn } from '#shared/redis.ts';

export type QueryMetrics = ReturnType<typeof createMetrics>;

/** Makes the metrics of one query service. */
export function createMetrics() {
  const registry = createRegistry();
  const { counter, gauge, histogram } = makersIn(registry);
  return {
    registry,
    pool: poolMetrics({ gauge, histogram }),
    redisSeconds: redisSecondsIn({ histogram }),
    requestSeconds: histogram(
      'store_data_request_seconds',
      'Seconds from the arrival of a request to the end of its answer, without those for which it waited for changes',
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      ['route', 'method', 'status'],
    ),
    waiting: gauge('store_data_waiting_requests', 'Requests that wait for changes'),
    refusals: counter('store_data_refusals_total', 'Refused requests by route, status and reason', [
      'route',
      'status',
      'reason',
    ]),
    failedAuthentications: counter(
      'store_data_failed_authentications_total',
      'Failed authentications at the token endpoint, by the limit that they exceeded: none (401), client_and_address, address, client (429)',
      ['limit'],
    ),
    shedRequests: counter(
      'store_data_shed_requests_total',
      'Requests refused at once with 503, since as many were in flight as can be answered in time; no other metric counts them',
    ),
    inFlight: gauge(
      'store_data_requests_in_flight',
      'Requests whose answers are being made, without those that wait for changes',
    ),
    inFlightLimit: gauge(
      'store_data_in_flight_limit',
      'Requests that may be in flight now; it adapts to the rate of answers',
    ),
    mongodbAway: gauge(
      'store_data_mongodb_away',
      '1 while MongoDB is known to be away, so that nobody waits for it; the label says of which environment, where that has its own',
      ['environment'],
    ),
    redisGateOpen: gauge(
      'store_data_redis_gate_open',
      '1 while requests are let through to Redis, 0 while it, or one master of a cluster, is away or not reconciled',
    ),
    reconciliationSeconds: histogram(
      'store_data_redis_reconciliation_seconds',
      'Seconds that this instance took to reconcile Redis with MongoDB',
      [0.01, 0.05, 0.25, 1, 2.5, 5, 10, 30],
    ),
    reconciliationRepairs: counter(
      'store_data_redis_repairs_total',
      'Records that Redis had older than MongoDB, and sessions that it had although they were revoked',
      ['kind'],
    ),
  };
}
