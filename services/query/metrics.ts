/** What the query service measures. No label ever holds an id of a store or a person. */
import { Gauge } from 'prom-client';
import type { Config } from '#shared/config.ts';
import type { Logger } from '#shared/logging.ts';
import { poolMetrics } from '#shared/mongodb.ts';
import { createRegistry, metricFactory } from '#shared/operations.ts';
import { GENERATION_LABELS } from '#shared/read-models/generation.ts';
import { redisSeconds } from '#shared/redis.ts';

export type QueryMetrics = ReturnType<typeof createMetrics>;

/** What the parts of the service are made with. */
export interface ServiceContext {
  config: Config;
  logger: Logger;
  metrics: QueryMetrics;
}

/** Makes the metrics of one query service. @param signingKeys those that it signs with. */
export function createMetrics(signingKeys: { isCurrent: boolean } = { isCurrent: true }) {
  const registry = createRegistry();
  const { counter, gauge, histogram } = metricFactory(registry);
  void new Gauge({
    name: 'store_data_signing_keys_current',
    help: '1 while the signing keys in use are those of their file, 0 while it is broken',
    registers: [registry],
    collect() {
      this.set(signingKeys.isCurrent ? 1 : 0);
    },
  });
  return {
    registry,
    pool: poolMetrics({ gauge, histogram }),
    redisSeconds: redisSeconds({ histogram }),
    requestSeconds: histogram(
      'store_data_request_seconds',
      'Seconds from the arrival of a request to the end of its answer, without its wait for changes',
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
      'Failed authentications at the token endpoint, by the exceeded limit: none (401), client_and_address, address, client (429)',
      ['limit'],
    ),
    shedRequests: counter(
      'store_data_shed_requests_total',
      'Requests refused with 503 for overload; no other metric counts them',
    ),
    inFlight: gauge(
      'store_data_requests_in_flight',
      'Requests being answered, without those that wait for changes',
    ),
    inFlightLimit: gauge(
      'store_data_in_flight_limit',
      'Maximum of requests in flight; further ones wait',
    ),
    unreadBytes: gauge(
      'store_data_unread_bytes',
      'Bytes of answers that clients have not read yet',
    ),
    cutAnswers: counter(
      'store_data_cut_answers_total',
      'Answers whose connections were closed because their clients read them too slowly',
    ),
    mongodbAway: gauge(
      'store_data_mongodb_away',
      '1 while MongoDB is away and requests fail at once',
      [],
    ),
    answeringGeneration: gauge(
      'store_data_answering_generation',
      '1 for the generation that answers, in each environment',
      [...GENERATION_LABELS],
    ),
    redisGateOpen: gauge(
      'store_data_redis_gate_open',
      '1 while requests pass to Redis, 0 while it, or one master of a cluster, is away or not reconciled',
    ),
    reconciliationSeconds: histogram(
      'store_data_redis_reconciliation_seconds',
      'Seconds in which this instance reconciled Redis with MongoDB',
      [0.01, 0.05, 0.25, 1, 2.5, 5, 10, 30],
    ),
    reconciliationRepairs: counter(
      'store_data_redis_repairs_total',
      'Records that were older in Redis than in MongoDB, and revoked sessions that Redis still had',
      ['kind'],
    ),
  };
}
