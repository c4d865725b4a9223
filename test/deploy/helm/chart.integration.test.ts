/**
 * The chart as helm renders it: objects that Kubernetes accepts, with variables that the services
 * accept.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { settingWarnings, readConfig } from '#shared/config.ts';
import { knownMetrics } from '../known-metrics.ts';
import { fetchDefinitions, fetchHelm, KUBERNETES_VERSIONS } from './fetched.ts';
import project from '../../../package.json' with { type: 'json' };
import { checkOfDefinitions, checkOfVersion, type KubernetesObject } from './schemas.ts';

interface Container {
  name: string;
  args: string[];
  env: { name: string; value?: string; valueFrom?: object }[];
  ports?: { name: string; containerPort: number }[];
  lifecycle?: { preStop: { sleep: { seconds: number } } };
  [more: string]: unknown;
}

interface PodSpec {
  terminationGracePeriodSeconds: number;
  containers: Container[];
  volumes?: {
    name: string;
    projected: { sources: { secret: { name: string; items: object[] } }[] };
  }[];
  [more: string]: unknown;
}

interface Pod {
  metadata: { labels: Record<string, string> };
  spec: PodSpec;
}

/** Fields of the kinds that these tests inspect. */
interface Rendered extends KubernetesObject {
  spec: {
    template: Pod;
    replicas?: number;
    selector: { matchLabels?: Record<string, string> };
    podSelector?: { matchLabels: Record<string, string> };
    [more: string]: unknown;
  };
  data?: Record<string, string>;
}

const CHART = 'deploy/helm/store-data';
const EXAMPLES = ['least', 'production', 'fixed'] as const;
const values = (example: string) => `deploy/helm/examples/${example}.yaml`;

let tools: { helm: string; schemas: string };
let missing: string | null = null;

beforeAll(async () => {
  try {
    tools = await fetchHelm();
  } catch (error) {
    missing = reasonToSkip(error);
  }
});
beforeEach(({ skip }) => {
  if (missing !== null) skip(missing);
});

/** Prints why a tool is unavailable, once. A wrong checksum is an error instead. */
function reasonToSkip(error: unknown): string {
  const reason = String(error);
  if (/hash|checksum|differs from/i.test(reason)) throw error;
  process.stderr.write(`skipped, the chart: ${reason}\n`);
  return reason;
}

async function helm(...args: string[]): Promise<string> {
  return (await promisify(execFile)(tools.helm, args, { maxBuffer: 16 * 1_048_576 })).stdout;
}

it('the packed chart holds the alerting rules and the dashboard, and has the version of the release', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-chart-'));
  try {
    const packed =
      (await helm('package', CHART, '--destination', folder)).trim().split(': ').at(-1) ?? '';
    expect(packed).toBe(join(folder, `store-data-${project.version}.tgz`));
    const { stdout } = await promisify(execFile)('tar', ['--list', '--gzip', '--file', packed]);
    const expected = [
      'Chart.yaml',
      'files/prometheus/alerts.yaml',
      'files/grafana/store-data.json',
    ];
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(expected.map((path) => `store-data/${path}`)),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const rendering = new Map<string, Promise<Rendered[]>>();

function render(example: string, ...sets: string[]): Promise<Rendered[]> {
  const args = [
    '--namespace=shop',
    `--values=${values(example)}`,
    ...sets.map((set) => `--set=${set}`),
  ];
  const key = args.join(' ');
  const made =
    rendering.get(key) ??
    helm('template', 'store-data', CHART, ...args).then((text) =>
      // Kubernetes reads YAML 1.1.
      parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
        const object = document.toJS() as Rendered | null;
        return object === null ? [] : [object];
      }),
    );
  rendering.set(key, made);
  return made;
}

async function find(
  example: string,
  kind: string,
  name: string,
  ...sets: string[]
): Promise<Rendered> {
  const objects = await render(example, ...sets);
  const found = objects.find(
    (object) => object.kind === kind && object.metadata.name === `store-data${name}`,
  );
  if (found === undefined) throw new Error(`${example} has no ${kind} ${name}`);
  return found;
}

const isWorkload = ({ kind }: KubernetesObject) => kind === 'Deployment' || kind === 'Job';
const containerOf = ({ spec }: Rendered): Container => {
  const [container] = spec.template.spec.containers;
  if (container === undefined) throw new Error('no container');
  return container;
};
/** The variables as the process sees them; values from Secrets are made up. */
const variablesOf = (container: Container) =>
  Object.fromEntries(container.env.map(({ name, value }) => [name, value ?? IN_SECRETS[name]]));
const IN_SECRETS: Record<string, string> = {
  MONGODB_URI: 'mongodb://mongodb/?replicaSet=rs0',
  REDIS_URL: 'redis://redis',
  SIGNING_KEYS: '{}',
};

describe.each(EXAMPLES)('the example %s', (example) => {
  it('passes helm lint', async () => {
    expect(await helm('lint', '--strict', CHART, `--values=${values(example)}`)).toContain(
      '0 chart(s) failed',
    );
  });

  it.each(KUBERNETES_VERSIONS)('has only fields that Kubernetes %s knows', async (version) => {
    const check = await checkOfVersion(tools.schemas, version);
    const objects = await render(example);
    const unknown = objects.filter((object) => check(object) === null).map(({ kind }) => kind);
    expect(new Set(unknown)).toEqual(
      new Set(example === 'production' ? ['ScaledObject', 'ServiceMonitor', 'PrometheusRule'] : []),
    );
    expect(
      objects.map((object) => [object.kind, object.metadata.name, check(object) ?? []]),
    ).toEqual(objects.map(({ kind, metadata }) => [kind, metadata.name, []]));
  });

  it('gives every process variables that it accepts', async () => {
    const workloads = (await render(example)).filter(isWorkload);
    expect(workloads.length).toBe(example === 'fixed' ? 3 : 4);
    for (const workload of workloads) {
      const container = containerOf(workload);
      const variables = variablesOf(container);
      expect(() => readConfig(variables)).not.toThrow();
      expect(settingWarnings(variables)).toEqual([]);
    }
  });

  it('mounts exactly the files that variables name', async () => {
    for (const { spec } of (await render(example)).filter(isWorkload)) {
      const [container] = spec.template.spec.containers;
      const named =
        container?.env.flatMap(({ name, value }) => (name.endsWith('_FILE') ? [value] : [])) ?? [];
      const sources =
        spec.template.spec.volumes?.flatMap(({ projected }) => projected.sources) ?? [];
      const items = sources.flatMap(({ secret }) => secret.items as { path: string }[]);
      expect(items.map(({ path }) => `/secrets/${path}`)).toEqual(named);
      expect(container?.['volumeMounts']).toEqual(
        named.length === 0
          ? undefined
          : [{ name: 'secrets', mountPath: '/secrets', readOnly: true }],
      );
    }
  });

  it('meets the restricted Pod Security Standard, with a read-only file system and no service account token', async () => {
    for (const { spec } of (await render(example)).filter(isWorkload)) {
      expect(spec.template.spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 65_532,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      });
      for (const name of ['hostNetwork', 'hostPID', 'hostIPC'])
        expect(spec.template.spec[name]).toBeUndefined();
      for (const container of spec.template.spec.containers) {
        expect(container['securityContext']).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
  });

  it('selects the pods of exactly one component with each selector', async () => {
    const objects = await render(example);
    const pods = objects.filter(isWorkload).map(({ spec }) => spec.template.metadata.labels);
    const selected = (labels: Record<string, string>) =>
      pods.filter((pod) => Object.entries(labels).every(([name, value]) => pod[name] === value));
    for (const { kind, metadata, spec } of objects) {
      const { podSelector, selector }: Partial<Rendered['spec']> = { ...spec };
      const labels =
        podSelector?.matchLabels ??
        selector?.matchLabels ??
        (kind === 'Service' ? (selector as Record<string, string>) : undefined);
      if (labels === undefined || kind === 'ServiceMonitor') continue;
      const component = metadata.labels['app.kubernetes.io/component'];
      expect(selected(labels)).toEqual([
        expect.objectContaining({ 'app.kubernetes.io/component': component }),
      ]);
    }
  });
});

describe('probes', () => {
  it.each(['-query', '-projector'])(
    'of %s check liveness and readiness separately',
    async (name) => {
      const container = containerOf(await find('least', 'Deployment', name));
      expect(container.ports).toContainEqual({ name: 'operations', containerPort: 9090 });
      const probe = (path: string) =>
        expect.objectContaining({ httpGet: { path, port: 'operations' } });
      expect(container).toMatchObject({
        startupProbe: probe('/live'),
        livenessProbe: probe('/live'),
        readinessProbe: probe('/ready'),
      });
    },
  );

  it('notice the shutdown of a query service before it stops serving', async () => {
    const { readinessProbe, env } = containerOf(await find('least', 'Deployment', '-query'));
    const { periodSeconds, failureThreshold } = readinessProbe as Record<string, number>;
    const { shutdownDelayMs } = readConfig(variablesOf({ env } as Container)).query;
    expect((periodSeconds ?? 0) * (failureThreshold ?? 0) * 1_000).toBeLessThan(shutdownDelayMs);
  });
});

describe('a shutdown', () => {
  it.each(EXAMPLES)('of %s has a grace period that covers every step', async (example) => {
    const query = (await find(example, 'Deployment', '-query')).spec.template.spec;
    const [container] = query.containers;
    if (container === undefined) throw new Error('no container');
    const sleep = container.lifecycle?.preStop.sleep.seconds ?? 0;
    const { shutdownDelayMs } = readConfig(variablesOf(container)).query;
    // docs/deploying.md: a query service takes 10 s after the delay, a projector 20 s.
    expect(query.terminationGracePeriodSeconds).toBe(sleep + shutdownDelayMs / 1_000 + 10 + 5);
    const projector = (await find(example, 'Deployment', '-projector')).spec.template.spec;
    expect(projector.terminationGracePeriodSeconds).toBeGreaterThan(20);
  });
});

describe('the workloads', () => {
  it('run the same commands as Compose', async () => {
    const compose = parse(await readFile('deploy/compose.yaml', 'utf8'), { merge: true }) as {
      services: Record<string, { command: string[] }>;
    };
    for (const name of ['query', 'projector']) {
      const { args } = containerOf(await find('least', 'Deployment', `-${name}`));
      expect(args).toEqual(compose.services[name]?.command);
    }
  });

  it('start after a job that prepares a partition for each possible projector', async () => {
    const job = await find('production', 'Job', '-prepare');
    expect(job.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
    expect(containerOf(job).args).toEqual([
      'services/admin/main.js',
      'prepare',
      '--partitions',
      '12',
    ]);
    const scaled = await find('production', 'ScaledObject', '-projector');
    expect(scaled.spec).toMatchObject({
      maxReplicaCount: 12,
      scaleTargetRef: { name: 'store-data-projector' },
    });
  });

  it('include a pod in which operators run commands as their own user', async () => {
    const operator = await find('production', 'Deployment', '-operator');
    const { env, command } = containerOf(operator) as Container & { command: string[] };
    const volumes = operator.spec.template.spec.volumes?.flatMap(
      ({ projected }) => projected.sources,
    );
    expect(command).toEqual(['sleep', 'infinity']);
    expect(variablesOf({ env } as Container)).toMatchObject({
      KAFKA_SASL_USERNAME: 'store-data-operator',
    });
    expect(new Set(volumes?.map(({ secret }) => secret.name))).toEqual(
      new Set(['store-data-authorities', 'store-data-sentinels', 'store-data-operator']),
    );
    const policy = await find('production', 'NetworkPolicy', '-operator');
    expect(policy.spec).toMatchObject({ ingress: [] });
    for (const example of EXAMPLES) {
      const [notes] = (
        await helm(
          'install',
          'store-data',
          CHART,
          `--values=${values(example)}`,
          '--dry-run=client',
        )
      )
        .split('NOTES:')
        .slice(1);
      expect(notes).toContain(
        'exec deployment/store-data-operator -- node services/admin/main.js lag',
      );
      expect(notes).not.toContain('-projector');
    }
  });

  it('get the settings of their component, `false` and large numbers unchanged', async () => {
    const fixed = variablesOf(containerOf(await find('fixed', 'Deployment', '-query')));
    expect(fixed).toMatchObject({ QUERY_DOCS: 'false', KAFKA_SESSION_TIMEOUT_MS: '1500' });
    const projector = variablesOf(
      containerOf(await find('production', 'Deployment', '-projector')),
    );
    expect(projector).toMatchObject({
      DEAD_LETTER_BYTES: '268435456',
      KAFKA_TLS: 'true',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    });
  });
});

describe('monitoring', () => {
  it('gets the rules and the dashboard of the repository unchanged', async () => {
    const rule = await find('production', 'PrometheusRule', '');
    expect(rule.spec).toEqual(parse(await readFile('deploy/prometheus/alerts.yaml', 'utf8')));
    const { data } = await find('production', 'ConfigMap', '-dashboard');
    const dashboard = await readFile('deploy/grafana/store-data.json', 'utf8');
    expect(JSON.parse(data?.['store-data.json'] ?? '')).toEqual(JSON.parse(dashboard));
  });

  it.each(['query', 'projector'])('scrapes %s under the job name of the rules', async (name) => {
    const monitor = await find('production', 'ServiceMonitor', `-${name}`);
    const { selector, endpoints } = monitor.spec as unknown as {
      selector: { matchLabels: Record<string, string> };
      endpoints: { port: string; relabelings: { targetLabel: string; replacement: string }[] }[];
    };
    const services = (await render('production')).filter(({ kind }) => kind === 'Service');
    const found = services.filter(({ metadata }) =>
      Object.entries(selector.matchLabels).every(
        ([label, value]) => metadata.labels[label] === value,
      ),
    );
    expect(found.map(({ metadata }) => metadata.name)).toEqual([`store-data-${name}-operations`]);
    expect(found[0]?.spec['ports']).toEqual([
      { name: endpoints[0]?.port, port: 9090, targetPort: 'operations' },
    ]);
    expect(endpoints[0]?.relabelings).toEqual([
      { targetLabel: 'job', replacement: `store-data-${name}` },
    ]);
  });

  it('scales projectors by metrics that exist', async () => {
    const { spec } = await find('production', 'ScaledObject', '-projector');
    const [trigger] = spec['triggers'] as { metadata: { query: string } }[];
    const query = trigger?.metadata.query ?? '';
    const known = knownMetrics();
    for (const metric of ['store_data_partition_lag', 'store_data_partition_stopped']) {
      expect(query).toContain(`by (topic, partition, generation) (${metric}{`);
      expect([...(known.get(metric) ?? [])]).toEqual(['topic', 'partition', 'generation']);
    }
  });

  it('has only fields that the custom resource definitions know', async ({ skip }) => {
    const definitions = await fetchDefinitions().catch((error: unknown) =>
      skip(reasonToSkip(error)),
    );
    const check = checkOfDefinitions(definitions);
    const objects = (await render('production')).filter((object) => check(object) !== null);
    expect(objects.map(({ kind }) => kind).toSorted()).toEqual([
      'PrometheusRule',
      'ScaledObject',
      'ServiceMonitor',
      'ServiceMonitor',
    ]);
    for (const object of objects) expect([object.kind, check(object)]).toEqual([object.kind, []]);
    const [first] = objects;
    expect(
      check({ ...first, spec: { ...first?.spec, unknown: 1 } } as KubernetesObject),
    ).not.toEqual([]);
  });
});

describe('invalid values', () => {
  it.each([
    ['settings.KAFKA_BROKER=kafka:9092', /KAFKA_BROKER/],
    ['settings.KAFKA_SASL_PASSWORD=open', /KAFKA_SASL_PASSWORD/],
    [
      'settings.MONGODB_URI=mongodb://user:open@mongodb/',
      /settings.MONGODB_URI holds a password.*secrets.MONGODB_URI, or .*secrets.MONGODB_PASSWORD_FILE/,
    ],
    [
      'settings.REDIS_URL=rediss+cluster://:open@redis:6379',
      /settings.REDIS_URL holds a password.*secrets.REDIS_PASSWORD_FILE/,
    ],
    ['settings.KAFKA_BROKERS=user:open@kafka:9092', /settings.KAFKA_BROKERS holds a password/],
    ['settings.OTEL_EXPORTER_OTLP_ENDPOINT=http://user:open@collector:4318', /holds a password/],
    ['query.secrets=null', /query needs the keys that sign tokens/],
    ['settings.REDIS_URL=', /needs REDIS_URL/],
    ['partitions=1', /2 projectors are more than the 1 partitions/],
    ['projector.autoscaling.enabled=true', /needs the address of prometheus/],
    ['networkpolicy.enabled=false', /networkpolicy/],
    [
      'query.service.type=LoadBalancer,query.settings.TRUSTED_PROXIES=10.0.0.0/8',
      /LoadBalancer forwards TCP.*TRUSTED_PROXIES.*externalTrafficPolicy/,
    ],
    ['settings.SHUTDOWN_DELAY_MS=abc', /SHUTDOWN_DELAY_MS/],
    ['query.settings.QUERY_DOCS=yes', /QUERY_DOCS/],
    [
      'query.autoscaling.enabled=true,query.autoscaling.minReplicas=9,query.autoscaling.maxReplicas=3',
      /minReplicas, 9, is above its maxReplicas, 3/,
    ],
  ])('are refused: %s', async (set, reason) => {
    await expect(render('least', set)).rejects.toThrow(reason);
  });

  it.each([
    'settings.MONGODB_URI=mongodb://user@mongodb-1:27017/?authMechanism=MONGODB-X509',
    'settings.REDIS_URL=redis+sentinel://user@redis:26379/store-data',
    'settings.KAFKA_SASL_TOKEN_URL=https://login:8443/token',
  ])('do not include a user without a password: %s', async (set) => {
    await expect(render('least', set)).resolves.toBeDefined();
  });
});
