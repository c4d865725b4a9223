/**
 * For each alert the series with which it must fire, and the most similar ones with which it must
 * not. Series are in the notation of `promtool test rules`, one value per minute, and change those
 * of a healthy installation.
 */

/** Values by series name; `null` removes the series. */
export type SeriesValues = Record<string, string | null>;

export interface Scenario {
  alert: string;
  /** The series that differ when it fires, the latest time of firing, and the labels. */
  fires: { series: SeriesValues; at: string; labels?: Record<string, string> };
  /** The series that differ, and the time until which it does not fire. */
  silent: { series: SeriesValues; at: string };
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

const NAMES = {
  upProjector: `up{${PROJECTOR}}`,
  upQuery: `up{${QUERY}}`,
  pending: `store_data_access_pending{${PROJECTOR}}`,
  ahead: `store_data_access_ahead{${PROJECTOR}}`,
  kafkaConnected: `store_data_kafka_connected{${OF_TOPIC}}`,
  fetched: `store_data_last_fetch_timestamp_seconds{${OF_TOPIC}}`,
  progress: `store_data_last_progress_timestamp_seconds{${OF_PARTITION}}`,
  lag: `store_data_partition_lag{${OF_PARTITION}}`,
  stopped: `store_data_partition_stopped{${OF_PARTITION}}`,
  unreadable: `store_data_partition_unreadable{${OF_PARTITION},reason="corrupt"}`,
  openTransaction:
    'store_data_partition_open_transaction_seconds{instance="p1",topic="store-changes.production",partition="0",generation="g1"}',
  failing: `store_data_partition_failing{${OF_PARTITION}}`,
  environmentStopped: `store_data_environment_stopped{${PROJECTOR},environment="sandbox"}`,
  fresh: `store_data_freshness_seconds_bucket{${OF_ENVIRONMENT},le="10"}`,
  freshAll: `store_data_freshness_seconds_count{${OF_ENVIRONMENT}}`,
  transactionsFail: `store_data_transaction_failures_total{${OF_TOPIC},kind="unavailable"}`,
  fenced: `store_data_transaction_failures_total{${OF_TOPIC},kind="fenced"}`,
  erasures: `store_data_erasures_oldest_seconds{${OF_ENVIRONMENT}}`,
  erased: `store_data_documents_erased_total{${OF_ENVIRONMENT}}`,
  newerSchema: `store_data_events_newer_schema_total{${OF_ENVIRONMENT},entity="order"}`,
  letters: `store_data_dead_letters_total{${OF_LETTERS},generation="g1",reason="data_invalid"}`,
  lettersOldest: `store_data_dead_letters_oldest_seconds{${OF_LETTERS},database="d"}`,
  lettersUsed: `store_data_dead_letters_used_ratio{${OF_LETTERS},database="d"}`,
  lettersExpired: `store_data_dead_letters_expired_total{${OF_LETTERS},reason="data_invalid"}`,
  projected: `store_data_generation{${OF_GENERATION},${PROJECTOR},state="live"}`,
  answering: `store_data_answering_generation{${OF_GENERATION},${QUERY}}`,
  gate: `store_data_redis_gate_open{${QUERY}}`,
  signingKeys: `store_data_signing_keys_current{${QUERY}}`,
  mongodbAway: `store_data_mongodb_away{${QUERY}}`,
  shed: `store_data_shed_requests_total{${QUERY}}`,
  good: `store_data_request_seconds_count{${OF_LIST},status="200"}`,
  bad: `store_data_request_seconds_count{${OF_LIST},status="503"}`,
  quick: `store_data_request_seconds_bucket{${OF_LIST},status="200",le="0.1"}`,
  slow: `store_data_request_seconds_bucket{${OF_LIST},status="200",le="1"}`,
  answers: `store_data_request_seconds_bucket{${OF_LIST},status="200",le="+Inf"}`,
} as const;

/** Two hours of a healthy installation. */
export const HEALTHY: SeriesValues = {
  [NAMES.upProjector]: '1x120',
  [NAMES.upQuery]: '1x120',
  [NAMES.pending]: '0x120',
  [NAMES.ahead]: '0x120',
  [NAMES.kafkaConnected]: '1x120',
  [NAMES.fetched]: '0+60x120',
  [NAMES.progress]: '0+60x120',
  [NAMES.lag]: '5x120',
  [NAMES.fresh]: '0+600x120',
  [NAMES.freshAll]: '0+600x120',
  [NAMES.erasures]: '0x120',
  [NAMES.lettersOldest]: '0x120',
  [NAMES.lettersUsed]: '0x120',
  [NAMES.projected]: '1x120',
  [NAMES.answering]: '1x120',
  [NAMES.gate]: '1x120',
  [NAMES.signingKeys]: '1x120',
  [NAMES.mongodbAway]: '0x120',
  [NAMES.shed]: '0x120',
  [NAMES.good]: '0+6000x120',
  [NAMES.bad]: '0+6x120',
  [NAMES.quick]: '0+6000x120',
  [NAMES.slow]: '0+6000x120',
  [NAMES.answers]: '0+6000x120',
};

/** The healthy series of a process, which end after ten minutes. */
const gone = (of: string): SeriesValues =>
  Object.fromEntries(
    Object.entries(HEALTHY).flatMap(([name, values]) =>
      name.includes(of) && !name.startsWith('up')
        ? [[name, `${values?.replace('x120', 'x10')} _x110`]]
        : [],
    ),
  );

/** For an alert that depends on one series. */
const alone = (
  name: string,
  fires: string,
  silent: string,
  at: string,
  labels: Record<string, string> = {},
): Pick<Scenario, 'fires' | 'silent'> => ({
  fires: { series: { [name]: fires }, at, labels },
  silent: { series: { [name]: silent }, at: '1h' },
});

export const SCENARIOS: readonly Scenario[] = [
  {
    alert: 'StoreDataProjectorsGone',
    fires: { series: { ...gone(PROJECTOR), [NAMES.upProjector]: null }, at: '20m' },
    // One of two.
    silent: {
      series: { ...gone(PROJECTOR), 'store_data_access_pending{instance="p2"}': '0x120' },
      at: '1h',
    },
  },
  {
    alert: 'StoreDataQueryServicesGone',
    fires: { series: { ...gone(QUERY), [NAMES.upQuery]: null }, at: '20m' },
    silent: {
      series: { ...gone(QUERY), 'store_data_redis_gate_open{instance="q2"}': '1x120' },
      at: '1h',
    },
  },
  {
    alert: 'StoreDataInstanceDown',
    fires: {
      series: { [NAMES.upQuery]: '1x10 0x110' },
      at: '17m',
      labels: { job: 'store-data-query', instance: 'q1' },
    },
    // A restart.
    silent: {
      series: { [NAMES.upQuery]: '1x10 0x3 1x106', 'up{job="other",instance="o"}': '0x120' },
      at: '17m',
    },
  },
  {
    alert: 'StoreDataGenerationNotProjected',
    // A generation of the same number in another installation does not help. Prometheus keeps a
    // vanished series for five minutes.
    fires: {
      series: {
        [NAMES.projected]: '1x10 _x110',
        'store_data_generation{environment="production",generation="g1",projection_version="6",marker="m2",state="live"}':
          '1x120',
      },
      at: '18m',
      labels: GENERATION,
    },
    // One projector replaces another, and the former live generation is kept.
    silent: {
      series: {
        [NAMES.projected]: '1x10 _x110',
        [NAMES.projected.replace('p1', 'p2').replace('live', 'kept')]: '_x11 1x109',
      },
      at: '1h',
    },
  },
  {
    alert: 'StoreDataKafkaAway',
    fires: { series: { [NAMES.kafkaConnected]: '1x10 0x110' }, at: '13m', labels: TOPIC },
    // Only one of two projectors.
    silent: {
      series: {
        [NAMES.kafkaConnected]: '1x10 0x110',
        'store_data_kafka_connected{instance="p2",topic="store-changes.production",generation="g1"}':
          '1x120',
      },
      at: '1h',
    },
  },
  {
    alert: 'StoreDataNothingFetched',
    ...alone(NAMES.fetched, '0+60x10 600x110', '0x1 60x1 180+60x117', '15m', TOPIC),
  },
  {
    alert: 'StoreDataPartitionStands',
    fires: { series: { [NAMES.progress]: '0+60x10 600x110' }, at: '18m', labels: PARTITION },
    // A stopped one has its own alert.
    silent: {
      series: { [NAMES.progress]: '0+60x10 600x110', [NAMES.stopped]: '_x11 1x110' },
      at: '1h',
    },
  },
  {
    alert: 'StoreDataPartitionStopped',
    fires: { series: { [NAMES.stopped]: '_x10 1x110' }, at: '12m', labels: PARTITION },
    silent: { series: { [NAMES.stopped]: '1x120', [NAMES.unreadable]: '1x120' }, at: '1h' },
  },
  {
    alert: 'StoreDataBatchUnreadable',
    fires: {
      series: { [NAMES.stopped]: '1x120', [NAMES.unreadable]: '1x120' },
      at: '1m',
      labels: { ...PARTITION, reason: 'corrupt' },
    },
    silent: { series: { [NAMES.stopped]: '1x120' }, at: '1h' },
  },
  {
    alert: 'StoreDataTransactionOpen',
    ...alone(NAMES.openTransaction, '0x10 60+60x110', '0+60x2 0x117', '15m', PARTITION),
  },
  {
    alert: 'StoreDataPartitionFails',
    ...alone(NAMES.failing, '_x10 1+4x110', '4x120', '15m', PARTITION),
  },
  {
    alert: 'StoreDataEnvironmentStopped',
    ...alone(NAMES.environmentStopped, '_x10 1x110', '0x10 1x0 0x109', '15m', {
      environment: 'sandbox',
    }),
  },
  {
    alert: 'StoreDataLagGrows',
    // A shrinking backlog does not fire.
    ...alone(NAMES.lag, '0+1000x120', '100000-500x120', '30m', TOPIC),
  },
  {
    alert: 'StoreDataFreshnessBurnsFast',
    endsAfter: 40,
    ...alone(NAMES.fresh, '0+500x120', '0+570x120', '15m', { environment: 'production' }),
  },
  {
    alert: 'StoreDataFreshnessBurnsSlowly',
    endsAfter: 400,
    ...alone(NAMES.fresh, '0+570x120', '0+597x120', '30m', { environment: 'production' }),
  },
  {
    alert: 'StoreDataTransactionsFail',
    fires: {
      series: { [NAMES.transactionsFail]: '0+60x120' },
      at: '15m',
      labels: { topic: TOPIC.topic, kind: 'unavailable' },
    },
    silent: {
      series: { [NAMES.transactionsFail]: '0+6x120', [NAMES.fenced]: '0+60x120' },
      at: '1h',
    },
  },
  {
    alert: 'StoreDataAccessPending',
    ...alone(NAMES.pending, '0x10 1x110', '0x10 3x1 0x108', '15m'),
  },
  { alert: 'StoreDataAccessAhead', ...alone(NAMES.ahead, '0x10 1x110', '0x10 1x9 0x100', '30m') },
  {
    alert: 'StoreDataErasureStands',
    // The responsible process never erased anything.
    fires: {
      series: { [NAMES.erasures]: '0+60x120' },
      at: '45m',
      labels: { environment: 'production', generation: 'g1' },
    },
    silent: { series: { [NAMES.erasures]: '0+60x120', [NAMES.erased]: '0+200x120' }, at: '1h' },
  },
  {
    alert: 'StoreDataNewerSchema',
    endsAfter: 65,
    // The first event creates the series.
    fires: {
      series: { [NAMES.newerSchema]: '_x10 1x110' },
      at: '12m',
      labels: { environment: 'production', entity: 'order' },
    },
    silent: { series: { [NAMES.newerSchema]: '7x120' }, at: '90m' },
  },
  {
    alert: 'StoreDataDeadLetters',
    // The first one creates the series.
    ...alone(NAMES.letters, '_x10 1x110', '3x120', '12m', { ...LETTERS, reason: 'data_invalid' }),
  },
  {
    alert: 'StoreDataDeadLettersForgotten',
    ...alone(NAMES.lettersOldest, '604000+60x120', '600000x120', '30m', LETTERS),
  },
  {
    alert: 'StoreDataDeadLettersFull',
    ...alone(NAMES.lettersUsed, '0.8x120', '0.79x120', '5m', LETTERS),
  },
  {
    alert: 'StoreDataDeadLettersExpired',
    endsAfter: 65,
    fires: {
      series: { [NAMES.lettersExpired]: '2x10 3x110' },
      at: '12m',
      labels: { ...LETTERS, reason: 'data_invalid' },
    },
    silent: { series: { [NAMES.lettersExpired]: '2x120' }, at: '90m' },
  },
  {
    alert: 'StoreDataRedisGateClosed',
    ...alone(NAMES.gate, '1x10 0x110', '1x10 0x0 1x110', '13m'),
  },
  {
    alert: 'StoreDataSigningKeysBroken',
    // A service may read a file during a write.
    ...alone(NAMES.signingKeys, '1x10 0x110', '1x10 0x0 1x109', '15m', { instance: 'q1' }),
  },
  {
    alert: 'StoreDataAvailabilityBurnsFast',
    endsAfter: 40,
    fires: { series: { [NAMES.bad]: '0+60x120', [NAMES.shed]: '0+60x120' }, at: '15m' },
    // The problem is over: the short window shows it.
    silent: { series: { [NAMES.bad]: '0+6x20 400+400x10 4400+6x90' }, at: '1h' },
  },
  {
    alert: 'StoreDataAvailabilityBurnsSlowly',
    endsAfter: 400,
    ...alone(NAMES.bad, '0+30x120', '0+5x120', '30m'),
  },
  {
    alert: 'StoreDataMongodbAway',
    ...alone(NAMES.mongodbAway, '0x10 1x110', '0x10 1x0 0x110', '13m'),
  },
  { alert: 'StoreDataSlow', ...alone(NAMES.quick, '0+5000x120', '0+5990x120', '30m') },
];

/**
 * The series with which an alert fires, and which are healthy again from a minute on, until
 * another.
 */
export function healthyFrom(
  minute: number,
  until: number,
  { series }: Scenario['fires'],
): SeriesValues {
  const names = new Set([...Object.keys(HEALTHY), ...Object.keys(series)]);
  return Object.fromEntries(
    [...names].map((name) => {
      const well = expand(HEALTHY[name] ?? '_x120', until);
      const ill = name in series ? expand(series[name] ?? '_x120', minute) : well;
      const before = ill.slice(0, minute);
      const isCounter = /_total\{|_count\{|_bucket\{/.test(name);
      // A counter continues from its last value.
      const moved = isCounter ? Number(before.at(-1) ?? 0) - Number(well[minute - 1] ?? 0) : 0;
      const after = well.slice(minute).map((value) => (value === '_' ? '_' : value + moved));
      return [name, [...before, ...after].join(' ')];
    }),
  );
}

/** The values of a notation of promtool, a value a minute; the last part continues. */
function expand(notation: string, minutes: number): (number | '_')[] {
  const values: (number | '_')[] = [];
  let last = { value: '_' as number | '_', step: 0 };
  for (const part of notation.split(' ')) {
    const [, start = '_', step = '0', times = '0'] =
      /^(_|-?[\d.]+)([+-][\d.]+)?(?:x(\d+))?$/.exec(part) ?? [];
    last = { value: start === '_' ? '_' : Number(start), step: Number(step) };
    // "_x2" has two samples, "1x2" three.
    for (let at = 0; at < Number(times) + (start === '_' ? 0 : 1); at += 1) {
      values.push(last.value);
      if (last.value !== '_') last.value += last.step;
    }
  }
  while (values.length < minutes) {
    values.push(last.value);
    if (last.value !== '_') last.value += last.step;
  }
  return values;
}
