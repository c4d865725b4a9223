/** What the query service measures. No label ever holds an id of a store or a person. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { createRegistry } from '#shared/process-metrics.ts';

export interface QueryMetrics {
  registry: Registry;
  /** Seconds from a request's arrival to the end of its answer, without those for which it was held until something changed. */
  requestSeconds: Histogram<'route' | 'method' | 'status'>;
  /** Requests that wait for changes. */
  waiting: Gauge;
  /** Refusals, by why. */
  refusals: Counter<'route' | 'status' | 'reason'>;
  /** Failed authentications at the token endpoint. */
  failedAuthentications: Counter<'limit'>;
  /** Requests for which there was no room. */
  shedRequests: Counter;
  /** Requests whose answers are being made. */
  inFlight: Gauge;
  /** How many of them there may be now. */
  inFlightLimit: Gauge;
  /** 1 while MongoDB is known to be away. */
  mongodbAway: Gauge;
  /** 0 while no request is let through to Redis. */
  redisGateOpen: Gauge;
  /** Seconds that this instance took to reconcile Redis with MongoDB. */
  reconciliationSeconds: Histogram;
  /** What Redis had older than MongoDB. */
  reconciliationRepairs: Counter<'kind'>;
}

/** Makes the metrics of one query service. */
export function createMetrics(): QueryMetrics {
  const registry = createRegistry();
  return {
    registry,
    requestSeconds: new Histogram({
      name: 'store_data_request_seconds',
      help: 'Seconds from the arrival of a request to the end of its answer, without those for which it waited for changes',
      labelNames: ['route', 'method', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers: [registry],
    }),
    waiting: new Gauge({
      name: 'store_data_waiting_requests',
      help: 'Requests that wait for changes',
      registers: [registry],
    }),
    refusals: new Counter({
      name: 'store_data_refusals_total',
      help: 'Refused requests by route, status and reason',
      labelNames: ['route', 'status', 'reason'],
      registers: [registry],
    }),
    failedAuthentications: new Counter({
      name: 'store_data_failed_authentications_total',
      help: 'Failed authentications at the token endpoint, by the limit that they exceeded: none (401), client_and_address, address, client (429)',
      labelNames: ['limit'],
      registers: [registry],
    }),
    shedRequests: new Counter({
      name: 'store_data_shed_requests_total',
      help: 'Requests refused at once with 503, since as many were in flight as can be answered in time; no other metric counts them',
      registers: [registry],
    }),
    inFlight: new Gauge({
      name: 'store_data_requests_in_flight',
      help: 'Requests whose answers are being made, without those that wait for changes',
      registers: [registry],
    }),
    inFlightLimit: new Gauge({
      name: 'store_data_in_flight_limit',
      help: 'Requests that may be in flight now; it adapts to the rate of answers',
      registers: [registry],
    }),
    mongodbAway: new Gauge({
      name: 'store_data_mongodb_away',
      help: '1 while MongoDB is known to be away, so that nobody waits for it',
      registers: [registry],
    }),
    redisGateOpen: new Gauge({
      name: 'store_data_redis_gate_open',
      help: '1 while requests are let through to Redis, 0 while it is away or not reconciled',
      registers: [registry],
    }),
    reconciliationSeconds: new Histogram({
      name: 'store_data_redis_reconciliation_seconds',
      help: 'Seconds that this instance took to reconcile Redis with MongoDB',
      buckets: [0.01, 0.05, 0.25, 1, 2.5, 5, 10, 30],
      registers: [registry],
    }),
    reconciliationRepairs: new Counter({
      name: 'store_data_redis_repairs_total',
      help: 'Records that Redis had older than MongoDB, and sessions that it had although they were revoked',
      labelNames: ['kind'],
      registers: [registry],
    }),
  };
}
