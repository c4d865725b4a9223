/**
 * For each alert the series with which it must fire, and the most similar ones with which it must
 * not. Series are in the notation of `promtool test rules`, one value per minute, and change those
 * of a healthy installation.
 */

/** Values by the short name of a series; `null` removes it. */
type Differing = Partial<Record<keyof typeof SERIES, string | null>>;

export interface Scenario {
  alert: string;
  /** The series that differ when it fires. */
  fires: Differing;
  /** The latest time of firing. */
  at: string;
  labels?: Record<string, string>;
  /** The series that differ when it does not fire until a time, by default an hour. */
  silent: Differing;
  until?: string;
  /**
   * How many minutes after the series are healthy again it ends: as long as its windows. Default:
   * 20.
   */
  endsAfter?: number;
}

const PROJECTOR = 'job="store-data-projector",instance="p1"';
const QUERY = 'job="store-data-query",instance="q1"';
const TOPIC = { topic: 'store-changes.production', generation: 'g1' };
const PARTITION = { ...TOPIC, partition: '0' };
const LETTERS = { environment: 'production', topic: TOPIC.topic };
const OF_TOPIC = `${PROJECTOR},topic="${TOPIC.topic}",generation="g1"`;
const OF_PARTITION = `${OF_TOPIC},partition="0"`;
const OF_LETTERS = `${PROJECTOR},environment="production",topic="${TOPIC.topic}"`;
const OF_ENVIRONMENT = `${PROJECTOR},environment="production",generation="g1"`;
const GENERATION = {
  environment: 'production',
  generation: 'g1',
  projection_version: '6',
  marker: 'm1',
};
const OF_GENERATION = 'environment="production",generation="g1",projection_version="6",marker="m1"';
const OF_LIST = `${QUERY},route="/api/order/list",method="GET"`;

type Series = readonly [name: string, healthy?: string];

/** All series, and the values of two hours of a healthy installation. */
const SERIES = {
  upProjector: [`up{${PROJECTOR}}`, '1x120'],
  upQuery: [`up{${QUERY}}`, '1x120'],
  pending: [`store_data_access_pending{${PROJECTOR}}`, '0x120'],
  ahead: [`store_data_access_ahead{${PROJECTOR}}`, '0x120'],
  kafkaConnected: [`store_data_kafka_connected{${OF_TOPIC}}`, '1x120'],
  fetched: [`store_data_last_fetch_timestamp_seconds{${OF_TOPIC}}`, '0+60x120'],
  progress: [`store_data_last_progress_timestamp_seconds{${OF_PARTITION}}`, '0+60x120'],
  lag: [`store_data_partition_lag{${OF_PARTITION}}`, '5x120'],
  stopped: [`store_data_partition_stopped{${OF_PARTITION}}`],
  unreadable: [`store_data_partition_unreadable{${OF_PARTITION},reason="corrupt"}`],
  openTransaction: [
    'store_data_partition_open_transaction_seconds{instance="p1",topic="store-changes.production",partition="0",generation="g1"}',
  ],
  failing: [`store_data_partition_failing{${OF_PARTITION}}`],
  environmentStopped: [`store_data_environment_stopped{${PROJECTOR},environment="sandbox"}`],
  fresh: [`store_data_freshness_seconds_bucket{${OF_ENVIRONMENT},le="10"}`, '0+600x120'],
  freshAll: [`store_data_freshness_seconds_count{${OF_ENVIRONMENT}}`, '0+600x120'],
  transactionsFail: [`store_data_transaction_failures_total{${OF_TOPIC},kind="unavailable"}`],
  fenced: [`store_data_transaction_failures_total{${OF_TOPIC},kind="fenced"}`],
  erasures: [`store_data_erasures_oldest_seconds{${OF_ENVIRONMENT}}`, '0x120'],
  erased: [`store_data_documents_erased_total{${OF_ENVIRONMENT}}`],
  newerSchema: [`store_data_events_newer_schema_total{${OF_ENVIRONMENT},entity="order"}`],
  letters: [`store_data_dead_letters_total{${OF_LETTERS},generation="g1",reason="data_invalid"}`],
  lettersOldest: [`store_data_dead_letters_oldest_seconds{${OF_LETTERS},database="d"}`, '0x120'],
  lettersUsed: [`store_data_dead_letters_used_ratio{${OF_LETTERS},database="d"}`, '0x120'],
  lettersExpired: [`store_data_dead_letters_expired_total{${OF_LETTERS},reason="data_invalid"}`],
  projected: [`store_data_generation{${OF_GENERATION},${PROJECTOR},state="live"}`, '1x120'],
  answering: [`store_data_answering_generation{${OF_GENERATION},${QUERY}}`, '1x120'],
  gate: [`store_data_redis_gate_open{${QUERY}}`, '1x120'],
  signingKeys: [`store_data_signing_keys_current{${QUERY}}`, '1x120'],
  mongodbAway: [`store_data_mongodb_away{${QUERY}}`, '0x120'],
  shed: [`store_data_shed_requests_total{${QUERY}}`, '0x120'],
  good: [`store_data_request_seconds_count{${OF_LIST},status="200"}`, '0+6000x120'],
  bad: [`store_data_request_seconds_count{${OF_LIST},status="503"}`, '0+6x120'],
  quick: [`store_data_request_seconds_bucket{${OF_LIST},status="200",le="0.1"}`, '0+6000x120'],
  slow: [`store_data_request_seconds_bucket{${OF_LIST},status="200",le="1"}`, '0+6000x120'],
  answers: [`store_data_request_seconds_bucket{${OF_LIST},status="200",le="+Inf"}`, '0+6000x120'],
  pendingOfAnother: ['store_data_access_pending{instance="p2"}'],
  gateOfAnother: ['store_data_redis_gate_open{instance="q2"}'],
  upOther: ['up{job="other",instance="o"}'],
  projectedElsewhere: [
    'store_data_generation{environment="production",generation="g1",projection_version="6",marker="m2",state="live"}',
  ],
  keptByAnother: [
    `store_data_generation{${OF_GENERATION},job="store-data-projector",instance="p2",state="kept"}`,
  ],
  kafkaConnectedOfAnother: [
    'store_data_kafka_connected{instance="p2",topic="store-changes.production",generation="g1"}',
  ],
} as const satisfies Record<string, Series>;

/** The healthy series of a process, which end after ten minutes. */
const gone = (of: string): Differing =>
  Object.fromEntries(
    Object.entries<Series>(SERIES).flatMap(([key, [name, healthy]]) =>
      name.includes(of) && !name.startsWith('up') && healthy !== undefined
        ? [[key, `${healthy.replace('x120', 'x10')} _x110`]]
        : [],
    ),
  );

/** For an alert that depends on one series. */
const alone = (
  name: keyof typeof SERIES,
  fires: string,
  silent: string,
  at: string,
  labels: Record<string, string> = {},
) => ({ fires: { [name]: fires }, silent: { [name]: silent }, at, labels });

export const SCENARIOS: readonly Scenario[] = [
  {
    alert: 'StoreDataProjectorsGone',
    fires: { ...gone(PROJECTOR), upProjector: null },
    at: '20m',
    // One of two.
    silent: { ...gone(PROJECTOR), pendingOfAnother: '0x120' },
  },
  {
    alert: 'StoreDataQueryServicesGone',
    fires: { ...gone(QUERY), upQuery: null },
    at: '20m',
    silent: { ...gone(QUERY), gateOfAnother: '1x120' },
  },
  {
    alert: 'StoreDataInstanceDown',
    fires: { upQuery: '1x10 0x110' },
    at: '17m',
    labels: { job: 'store-data-query', instance: 'q1' },
    // A restart.
    silent: { upQuery: '1x10 0x3 1x106', upOther: '0x120' },
    until: '17m',
  },
  {
    alert: 'StoreDataGenerationNotProjected',
    // A generation of the same number in another installation does not help. Prometheus keeps a
    // vanished series for five minutes.
    fires: {
      projected: '1x10 _x110',
      projectedElsewhere: '1x120',
    },
    at: '18m',
    labels: GENERATION,
    // One projector replaces another, and the former live generation is kept.
    silent: {
      projected: '1x10 _x110',
      keptByAnother: '_x11 1x109',
    },
  },
  {
    alert: 'StoreDataKafkaAway',
    fires: { kafkaConnected: '1x10 0x110' },
    at: '13m',
    labels: TOPIC,
    // Only one of two projectors.
    silent: {
      kafkaConnected: '1x10 0x110',
      kafkaConnectedOfAnother: '1x120',
    },
  },
  {
    alert: 'StoreDataNothingFetched',
    ...alone('fetched', '0+60x10 600x110', '0x1 60x1 180+60x117', '15m', TOPIC),
  },
  {
    alert: 'StoreDataPartitionStands',
    fires: { progress: '0+60x10 600x110' },
    at: '18m',
    labels: PARTITION,
    // A stopped one has its own alert.
    silent: { progress: '0+60x10 600x110', stopped: '_x11 1x110' },
  },
  {
    alert: 'StoreDataPartitionStopped',
    fires: { stopped: '_x10 1x110' },
    at: '12m',
    labels: PARTITION,
    silent: { stopped: '1x120', unreadable: '1x120' },
  },
  {
    alert: 'StoreDataBatchUnreadable',
    fires: { stopped: '1x120', unreadable: '1x120' },
    at: '1m',
    labels: { ...PARTITION, reason: 'corrupt' },
    silent: { stopped: '1x120' },
  },
  {
    alert: 'StoreDataTransactionOpen',
    ...alone('openTransaction', '0x10 60+60x110', '0+60x2 0x117', '15m', PARTITION),
  },
  {
    alert: 'StoreDataPartitionFails',
    ...alone('failing', '_x10 1+4x110', '4x120', '15m', PARTITION),
  },
  {
    alert: 'StoreDataEnvironmentStopped',
    ...alone('environmentStopped', '_x10 1x110', '0x10 1x0 0x109', '15m', {
      environment: 'sandbox',
    }),
  },
  {
    alert: 'StoreDataLagGrows',
    // A shrinking backlog does not fire.
    ...alone('lag', '0+1000x120', '100000-500x120', '30m', TOPIC),
  },
  {
    alert: 'StoreDataFreshnessBurnsFast',
    endsAfter: 40,
    ...alone('fresh', '0+500x120', '0+570x120', '15m', { environment: 'production' }),
  },
  {
    alert: 'StoreDataFreshnessBurnsSlowly',
    endsAfter: 400,
    ...alone('fresh', '0+570x120', '0+597x120', '30m', { environment: 'production' }),
  },
  {
    alert: 'StoreDataTransactionsFail',
    fires: { transactionsFail: '0+60x120' },
    at: '15m',
    labels: { topic: TOPIC.topic, kind: 'unavailable' },
    silent: { transactionsFail: '0+6x120', fenced: '0+60x120' },
  },
  {
    alert: 'StoreDataAccessPending',
    ...alone('pending', '0x10 1x110', '0x10 3x1 0x108', '15m'),
  },
  { alert: 'StoreDataAccessAhead', ...alone('ahead', '0x10 1x110', '0x10 1x9 0x100', '30m') },
  {
    alert: 'StoreDataErasureStands',
    // The responsible process never erased anything.
    fires: { erasures: '0+60x120' },
    at: '45m',
    labels: { environment: 'production', generation: 'g1' },
    silent: { erasures: '0+60x120', erased: '0+200x120' },
  },
  {
    alert: 'StoreDataNewerSchema',
    endsAfter: 65,
    // The first event creates the series.
    ...alone('newerSchema', '_x10 1x110', '7x120', '12m', {
      environment: 'production',
      entity: 'order',
    }),
    until: '90m',
  },
  {
    alert: 'StoreDataDeadLetters',
    // The first one creates the series.
    ...alone('letters', '_x10 1x110', '3x120', '12m', { ...LETTERS, reason: 'data_invalid' }),
  },
  {
    alert: 'StoreDataDeadLettersForgotten',
    ...alone('lettersOldest', '604000+60x120', '600000x120', '30m', LETTERS),
  },
  {
    alert: 'StoreDataDeadLettersFull',
    ...alone('lettersUsed', '0.8x120', '0.79x120', '5m', LETTERS),
  },
  {
    alert: 'StoreDataDeadLettersExpired',
    endsAfter: 65,
    ...alone('lettersExpired', '2x10 3x110', '2x120', '12m', {
      ...LETTERS,
      reason: 'data_invalid',
    }),
    until: '90m',
  },
  {
    alert: 'StoreDataRedisGateClosed',
    ...alone('gate', '1x10 0x110', '1x10 0x0 1x110', '13m'),
  },
  {
    alert: 'StoreDataSigningKeysBroken',
    // A service may read a file during a write.
    ...alone('signingKeys', '1x10 0x110', '1x10 0x0 1x109', '15m', { instance: 'q1' }),
  },
  {
    alert: 'StoreDataAvailabilityBurnsFast',
    endsAfter: 40,
    fires: { bad: '0+60x120', shed: '0+60x120' },
    at: '15m',
    // The problem is over: the short window shows it.
    silent: { bad: '0+6x20 400+400x10 4400+6x90' },
  },
  {
    alert: 'StoreDataAvailabilityBurnsSlowly',
    endsAfter: 400,
    ...alone('bad', '0+30x120', '0+5x120', '30m'),
  },
  {
    alert: 'StoreDataMongodbAway',
    ...alone('mongodbAway', '0x10 1x110', '0x10 1x0 0x110', '13m'),
  },
  { alert: 'StoreDataSlow', ...alone('quick', '0+5000x120', '0+5990x120', '30m') },
];

/**
 * The series of an installation for promtool: those that differ, the others healthy.
 * @param healthyFrom the minute from which all are healthy again, until another.
 */
export function seriesWith(
  differing: Differing,
  healthyFrom?: { minute: number; until: number },
): { series: string; values: string }[] {
  return Object.entries<Series>(SERIES).flatMap(([key, [series, healthy]]) => {
    const ill = key in differing ? differing[key as keyof Differing] : healthy;
    if (healthyFrom === undefined) return typeof ill === 'string' ? [{ series, values: ill }] : [];
    const { minute, until } = healthyFrom;
    const before = expand(ill ?? '_x120', minute).slice(0, minute);
    const well = expand(healthy ?? '_x120', until);
    const isCounter = /_total\{|_count\{|_bucket\{/.test(series);
    // A counter continues from its last value.
    const moved = isCounter ? Number(before.at(-1) ?? 0) - Number(well[minute - 1] ?? 0) : 0;
    const after = well.slice(minute).map((value) => (value === '_' ? '_' : value + moved));
    return [{ series, values: [...before, ...after].join(' ') }];
  });
}

/** The values of a notation of promtool, a value a minute; the last part continues. */
function expand(notation: string, minutes: number): (number | '_')[] {
  const parts = notation.split(' ').map((part) => {
    const [, start = '_', step = '0', times = '0'] =
      /^(_|-?[\d.]+)([+-][\d.]+)?(?:x(\d+))?$/.exec(part) ?? [];
    return { start, step: Number(step), times: Number(times) };
  });
  return parts.flatMap(({ start, step, times }, index) => {
    // "_x2" has two samples, "1x2" three.
    const length = index === parts.length - 1 ? minutes : times + (start === '_' ? 0 : 1);
    return Array.from({ length }, (_, at) => (start === '_' ? '_' : Number(start) + at * step));
  });
}
