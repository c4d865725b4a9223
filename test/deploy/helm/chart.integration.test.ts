/**
 * The chart as helm renders it: objects that Kubernetes accepts, with variables that the services
 * accept.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { settingWarnings, readConfig } from '#shared/config.ts';
import { useFolder } from '#test/folder.ts';
import { run } from '#test/run.ts';
import { words } from '#test/words.ts';
import { prepared, settled } from '../../clients/programs.ts';
import { knownMetrics } from '../known-metrics.ts';
import { fetchDefinitions, fetchHelm, KUBERNETES_VERSIONS } from './fetched.ts';
import project from '../../../package.json' with { type: 'json' };
import { checkOfDefinitions, checkOfVersion, type KubernetesObject } from './schemas.ts';

/** Fields that these tests inspect. */
interface Container {
  args: string[];
  env: { name: string; value?: string }[];
  lifecycle?: { preStop: { sleep: { seconds: number } } };
  readinessProbe?: { periodSeconds: number; failureThreshold: number };
}

interface Rendered extends KubernetesObject {
  spec: {
    template: {
      metadata: { labels: Labels };
      spec: {
        terminationGracePeriodSeconds: number;
        containers: [Container];
        volumes?: {
          projected: { sources: { secret: { name: string; items: { path: string }[] } }[] };
        }[];
      };
    };
    /** Of a Service it has no `matchLabels`. */
    selector?: { matchLabels?: Labels };
    podSelector?: { matchLabels: Labels };
    ports?: object[];
    endpoints?: [{ port: string; relabelings: object[] }];
    triggers?: [{ metadata: { query: string } }];
  };
  data?: Record<string, string>;
}
type Labels = Record<string, string>;

const CHART = 'deploy/helm/store-data';
const EXAMPLES = ['least', 'production', 'fixed'] as const;
const valuesOf = (example: string) => `--values=deploy/helm/examples/${example}.yaml`;

const folder = useFolder();
const fetching = settled(fetchHelm());
let tools: Awaited<ReturnType<typeof fetchHelm>>;

beforeEach(async (context) => {
  tools = await prepared(fetching, context);
});

const helm = (...args: string[]) => run(tools.helm, args);

it('the packed chart holds the alerting rules and the dashboard, and has the version of the release', async () => {
  const packed = join(folder, `store-data-${project.version}.tgz`);
  await helm('package', CHART, '--destination', folder);
  const files = await run('tar', ['--list', '--gzip', '--file', packed]);
  for (const file of words('Chart.yaml files/prometheus/alerts.yaml files/grafana/store-data.json'))
    expect(files).toContain(`store-data/${file}\n`);
});

const rendering = new Map<string, Promise<Rendered[]>>();

function render(example: string, ...sets: string[]): Promise<Rendered[]> {
  const args = ['--namespace=shop', valuesOf(example), ...sets.map((set) => `--set=${set}`)];
  const key = args.join(' ');
  const made =
    rendering.get(key) ??
    helm('template', 'store-data', CHART, ...args).then((text) =>
      // Kubernetes reads YAML 1.1.
      parseAllDocuments(text, { version: '1.1' })
        .map((document) => document.toJS() as Rendered | null)
        .filter((object) => object !== null),
    );
  rendering.set(key, made);
  return made;
}

/** @param name its kind, and what follows the name of the installation. */
async function find(example: string, name: `${string} ${string}`): Promise<Rendered> {
  const objects = await render(example);
  const found = objects.find(({ kind, metadata }) => `${kind} ${metadata.name}` === name);
  if (found === undefined) throw new Error(`${example} has no ${name}`);
  return found;
}

/** Deployments and jobs: their pods, and what runs there. */
async function workloadsOf(example: string) {
  const objects = await render(example);
  return objects.filter(({ kind }) => kind === 'Deployment' || kind === 'Job').map(inside);
}

const inside = ({ spec: { template } }: Rendered) => {
  const { metadata, spec: pod } = template;
  const [container] = pod.containers;
  const sources = pod.volumes?.flatMap(({ projected }) => projected.sources) ?? [];
  return { labels: metadata.labels, pod, container, secrets: sources.map(({ secret }) => secret) };
};

const deployed = async (example: string, component: string) =>
  inside(await find(example, `Deployment store-data-${component}`));

/** The variables as the process sees them; values from Secrets are made up. */
const variablesOf = ({ env }: Container) =>
  Object.fromEntries(env.map(({ name, value }) => [name, value ?? IN_SECRETS[name]]));
const IN_SECRETS: Record<string, string> = {
  MONGODB_URI: 'mongodb://mongodb/?replicaSet=rs0',
  REDIS_URL: 'redis://redis',
  SIGNING_KEYS: '{}',
};

describe.each(EXAMPLES)('the example %s', (example) => {
  it('passes helm lint', async () => {
    const said = await helm('lint', '--strict', CHART, valuesOf(example));
    expect(said).toContain('0 chart(s) failed');
  });

  it.each(KUBERNETES_VERSIONS)('has only fields that Kubernetes %s knows', async (version) => {
    const check = await checkOfVersion(tools.schemas, version);
    const checked = (await render(example)).map((object) => [object.kind, check(object)] as const);
    const unknown = checked.filter(([, errors]) => errors === null).map(([kind]) => kind);
    const others = example === 'production' ? 'PrometheusRule ScaledObject ServiceMonitor' : '';
    expect([...new Set(unknown)].toSorted().join(' ')).toBe(others);
    expect(checked.filter(([, errors]) => errors !== null && errors.length > 0)).toEqual([]);
  });

  it('gives every process variables that it accepts, and exactly the files that they name', async () => {
    const workloads = await workloadsOf(example);
    expect(workloads.length).toBe(example === 'fixed' ? 3 : 4);
    for (const { container, secrets } of workloads) {
      const variables = variablesOf(container);
      expect(() => readConfig(variables)).not.toThrow();
      expect(settingWarnings(variables)).toEqual([]);
      const named = Object.keys(variables).filter((name) => name.endsWith('_FILE'));
      const paths = secrets.flatMap(({ items }) => items.map(({ path }) => `/secrets/${path}`));
      expect(paths).toEqual(named.map((name) => variables[name]));
      const volumeMounts = [{ name: 'secrets', mountPath: '/secrets', readOnly: true }];
      if (named.length > 0) expect(container).toMatchObject({ volumeMounts });
      else expect(container).not.toHaveProperty('volumeMounts');
    }
  });

  it('meets the restricted Pod Security Standard, with a read-only file system and no service account token', async () => {
    for (const { pod, container } of await workloadsOf(example)) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 65_532,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [expect.anything()],
      });
      for (const name of ['hostNetwork', 'hostPID', 'hostIPC'])
        expect(pod).not.toHaveProperty(name);
      expect(container).toHaveProperty('securityContext', {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('selects the pods of exactly one component with each selector', async () => {
    const COMPONENT = 'app.kubernetes.io/component';
    const pods = await workloadsOf(example);
    for (const { kind, metadata, spec } of await render(example)) {
      const { podSelector, selector }: Partial<Rendered['spec']> = { ...spec };
      const ofService = kind === 'Service' ? (selector as Labels) : undefined;
      const wanted = podSelector?.matchLabels ?? selector?.matchLabels ?? ofService;
      if (wanted === undefined || kind === 'ServiceMonitor') continue;
      const selected = pods.filter(({ labels }) =>
        Object.entries(wanted).every(([name, value]) => labels[name] === value),
      );
      expect(selected.map(({ labels }) => labels[COMPONENT])).toEqual([metadata.labels[COMPONENT]]);
    }
  });

  it('has grace periods that cover every step of a shutdown', async () => {
    const { pod, container } = await deployed(example, 'query');
    const sleep = container.lifecycle?.preStop.sleep.seconds ?? 0;
    const { shutdownDelayMs } = readConfig(variablesOf(container)).query;
    // docs/deploying.md: a query service takes 10 s after the delay, a projector 20 s.
    expect(pod.terminationGracePeriodSeconds).toBe(sleep + shutdownDelayMs / 1_000 + 10 + 5);
    const projector = await deployed(example, 'projector');
    expect(projector.pod.terminationGracePeriodSeconds).toBeGreaterThan(20);
  });

  it('tells operators in which pod to run commands', async () => {
    const args = ['store-data', CHART, valuesOf(example), '--dry-run=client'];
    const [, notes] = (await helm('install', ...args)).split('NOTES:');
    expect(notes).toContain(
      'exec deployment/store-data-operator -- node services/admin/main.js lag',
    );
    expect(notes).not.toContain('-projector');
  });
});

describe('probes', () => {
  it.each(['query', 'projector'])(
    'of %s check liveness and readiness separately',
    async (component) => {
      const probe = (path: string) => ({ httpGet: { path, port: 'operations' } });
      expect((await deployed('least', component)).container).toMatchObject({
        ports: expect.arrayContaining([{ name: 'operations', containerPort: 9090 }]),
        startupProbe: probe('/live'),
        livenessProbe: probe('/live'),
        readinessProbe: probe('/ready'),
      });
    },
  );

  it('notice the shutdown of a query service before it stops serving', async () => {
    const { container } = await deployed('least', 'query');
    const { periodSeconds = NaN, failureThreshold = NaN } = container.readinessProbe ?? {};
    const { shutdownDelayMs } = readConfig(variablesOf(container)).query;
    expect(periodSeconds * failureThreshold * 1_000).toBeLessThan(shutdownDelayMs);
  });
});

describe('the workloads', () => {
  it('run the same commands as Compose', async () => {
    const compose = parse(await readFile('deploy/compose.yaml', 'utf8'), { merge: true }) as {
      services: Record<string, { command: string[] }>;
    };
    for (const name of ['query', 'projector']) {
      const { container } = await deployed('least', name);
      expect(container.args).toEqual(compose.services[name]?.command);
    }
  });

  it('start after a job that prepares a partition for each possible projector', async () => {
    const job = await find('production', 'Job store-data-prepare');
    expect(job.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
    const prepare = words('services/admin/main.js prepare --partitions 12');
    expect(inside(job).container.args).toEqual(prepare);
    const { spec } = await find('production', 'ScaledObject store-data-projector');
    const scaleTargetRef = { name: 'store-data-projector' };
    expect(spec).toMatchObject({ maxReplicaCount: 12, scaleTargetRef });
  });

  it('include a pod in which operators run commands as their own user', async () => {
    const { container, secrets } = await deployed('production', 'operator');
    expect(container).toMatchObject({ command: ['sleep', 'infinity'] });
    expect(variablesOf(container)).toMatchObject({ KAFKA_SASL_USERNAME: 'store-data-operator' });
    const names = ['authorities', 'operator', 'sentinels'].map((name) => `store-data-${name}`);
    expect([...new Set(secrets.map(({ name }) => name))].toSorted()).toEqual(names);
    const policy = await find('production', 'NetworkPolicy store-data-operator');
    expect(policy.spec).toMatchObject({ ingress: [] });
  });

  it('get the settings of their component, `false` and large numbers unchanged', async () => {
    const fixed = variablesOf((await deployed('fixed', 'query')).container);
    expect(fixed).toMatchObject({ QUERY_DOCS: 'false', KAFKA_SESSION_TIMEOUT_MS: '1500' });
    const projector = variablesOf((await deployed('production', 'projector')).container);
    expect(projector).toMatchObject({
      DEAD_LETTER_BYTES: '268435456',
      KAFKA_TLS: 'true',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    });
  });
});

describe('monitoring', () => {
  it('gets the rules and the dashboard of the repository unchanged', async () => {
    const rule = await find('production', 'PrometheusRule store-data');
    expect(rule.spec).toEqual(parse(await readFile('deploy/prometheus/alerts.yaml', 'utf8')));
    const { data } = await find('production', 'ConfigMap store-data-dashboard');
    const dashboard = await readFile('deploy/grafana/store-data.json', 'utf8');
    expect(JSON.parse(data?.['store-data.json'] ?? '')).toEqual(JSON.parse(dashboard));
  });

  it.each(['query', 'projector'])('scrapes %s under the job name of the rules', async (name) => {
    const { spec } = await find('production', `ServiceMonitor store-data-${name}`);
    const labels = Object.entries(spec.selector?.matchLabels ?? {});
    const found = (await render('production')).filter(
      ({ kind, metadata }) =>
        kind === 'Service' && labels.every(([label, value]) => metadata.labels[label] === value),
    );
    const [{ port, relabelings }] = spec.endpoints ?? [{}];
    const ports = [{ name: port, port: 9090, targetPort: 'operations' }];
    expect(found).toMatchObject([
      { metadata: { name: `store-data-${name}-operations` }, spec: { ports } },
    ]);
    expect(relabelings).toEqual([{ targetLabel: 'job', replacement: `store-data-${name}` }]);
  });

  it('scales projectors by metrics that exist', async () => {
    const { spec } = await find('production', 'ScaledObject store-data-projector');
    const query = spec.triggers?.[0].metadata.query;
    const known = knownMetrics();
    for (const metric of ['store_data_partition_lag', 'store_data_partition_stopped']) {
      expect(query).toContain(`by (topic, partition, generation) (${metric}{`);
      expect([...(known.get(metric) ?? [])]).toEqual(['topic', 'partition', 'generation']);
    }
  });

  it('has only fields that the custom resource definitions know', async (context) => {
    const check = checkOfDefinitions(await prepared(settled(fetchDefinitions()), context));
    const objects = (await render('production')).filter((object) => check(object) !== null);
    const kinds = words('PrometheusRule ScaledObject ServiceMonitor ServiceMonitor');
    expect(objects.map(({ kind }) => kind).toSorted()).toEqual(kinds);
    for (const object of objects) {
      expect([object.kind, check(object)]).toEqual([object.kind, []]);
      const wrong = { ...object, spec: { ...object.spec, unknown: 1 } };
      expect(check(wrong), object.kind).not.toEqual([]);
    }
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
  ])('are refused: %s', (set, reason) => expect(render('least', set)).rejects.toThrow(reason));

  it.each([
    'settings.MONGODB_URI=mongodb://user@mongodb-1:27017/?authMechanism=MONGODB-X509',
    'settings.REDIS_URL=redis+sentinel://user@redis:26379/store-data',
    'settings.KAFKA_SASL_TOKEN_URL=https://login:8443/token',
  ])('do not include a user without a password: %s', async (set) => {
    await render('least', set);
  });
});
