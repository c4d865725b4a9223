/**
 * An upgrade in place to a release with another projection, as a real Prometheus sees it: once the projectors of the former release are
 * gone, nobody projects what answers, and that alone alerts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { afterAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { createLogger } from '#shared/logging.ts';
import { startOperations } from '#shared/operations.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { generationCaughtUp } from '#test/generations.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { freePorts } from '../../../deploy/local/stack/program.ts';
import { buildApp } from '../../../services/query/app.ts';
import { runJson } from '../../services/admin/run-command.ts';
import { findTool } from './tools.ts';

const OLD = PROJECTION_VERSION - 1;
const RULES = 'deploy/prometheus/alerts.yaml';
const ALERT = 'StoreDataGenerationNotProjected';
const logger = createLogger('test', 'silent');

const prometheus = await findTool('prometheus', process.env);
if ('missing' in prometheus) process.stderr.write(`the upgrade is not watched: ${prometheus.missing}\n`);

const cleanup = new AsyncDisposableStack();
afterAll(() => cleanup.disposeAsync());

interface Alert {
  state: string;
  labels: Record<string, string>;
}

interface Prometheus {
  /** Has it ask these and no others. */
  watch: (services: readonly Service[]) => Promise<void>;
  /** The values of an expression, by the label of a name. */
  ask: (expression: string) => Promise<{ metric: Record<string, string>; value: [number, string] }[]>;
  firing: () => Promise<Alert[]>;
}

interface Service {
  job: string;
  /** Where its operations port is. */
  host: string;
}

/** Starts a Prometheus with our rules, which wait a second where they wait for minutes. */
async function startPrometheus(file: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-prometheus-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const rules = parse(await readFile(RULES, 'utf8')) as {
    groups: { rules: { alert: string; for?: string }[] }[];
  };
  for (const rule of rules.groups.flatMap((group) => group.rules)) if (rule.alert === ALERT) rule.for = '1s';
  const targets = join(folder, 'targets.json');
  await writeFile(targets, '[]');
  await writeFile(join(folder, 'alerts.yaml'), stringify(rules));
  await writeFile(
    join(folder, 'prometheus.yaml'),
    stringify({
      global: { scrape_interval: '500ms', evaluation_interval: '500ms' },
      rule_files: ['alerts.yaml'],
      scrape_configs: [
        { job_name: 'store-data', file_sd_configs: [{ files: [targets], refresh_interval: '500ms' }] },
      ],
    }),
  );
  const [port = 0] = await freePorts(1);
  const child = spawn(
    file,
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  cleanup.defer(() => end(child));
  const api = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await answer.json()) as { data: unknown }).data;
  };
  await eventually('Prometheus is ready', () =>
    fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    async watch(services) {
      const found = services.map(({ job, host }) => ({ targets: [host], labels: { job } }));
      await writeFile(`${targets}.new`, JSON.stringify(found));
      await rename(`${targets}.new`, targets);
    },
    ask: async (expression) =>
      ((await api(`query?query=${encodeURIComponent(expression)}`)) as { result: never[] }).result,
    firing: async () => {
      const { alerts } = (await api('alerts')) as { alerts: Alert[] };
      return alerts.filter(({ state }) => state === 'firing');
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function serve(job: string, registry: Registry, unreadyReason: () => string | null): Promise<Service> {
  const { url, close } = await startOperations({
    host: '127.0.0.1',
    port: 0,
    live: () => true,
    unreadyReason,
    registry,
    logger,
  });
  cleanup.defer(close);
  return { job, host: new URL(url).host };
}

async function startProjectorOf(
  { config }: Installation,
  projectionVersion: number,
): Promise<Service & { projector: RunningProjector }> {
  const projector = await startProjector(config, logger, { projectionVersion });
  cleanup.defer(() => projector.stop());
  const { registry } = projector.metrics;
  return { projector, ...(await serve('store-data-projector', registry, projector.unreadyReason)) };
}

async function startQueryOf({ config }: Installation, projectionVersion: number): Promise<Service> {
  const signingKeys = await loadSigningKeys(config.tokens);
  const app = await buildApp({ config, logger, signingKeys, projectionVersion });
  cleanup.defer(() => app.close());
  return serve(
    'store-data-query',
    app.services.metrics.registry,
    app.services.generations.otherReleaseReason,
  );
}

it.skipIf('missing' in prometheus)(
  'alerts while nobody projects the generation that answers, and no longer once the new release answers from its own',
  async () => {
    if ('missing' in prometheus) return;
    const installation = await createInstallation();
    cleanup.defer(() => installation.close());
    const { environment } = installation;
    const { watch, ask, firing } = await startPrometheus(prometheus.file);
    const names = async () => (await firing()).map(({ labels }) => labels['alertname']);
    const generations = async (metric: string) =>
      (await ask(metric)).map(({ metric: { generation } }) => generation);

    const oldProjector = await startProjectorOf(installation, OLD);
    const oldQuery = await startQueryOf(installation, OLD);
    await generationCaughtUp(installation, 1);
    await watch([oldProjector, oldQuery]);
    await eventually('all is seen', async () => {
      const seen = [
        await generations('store_data_generation'),
        await generations('store_data_answering_generation'),
      ];
      return seen.flat().join() === 'g1,g1';
    });

    const newProjector = await startProjectorOf(installation, PROJECTION_VERSION);
    // A rolling update that waits for readiness ends here, and nothing happens.
    expect(newProjector.projector.unreadyReason()).toContain(
      'keep the projectors of the other release running',
    );
    await watch([oldProjector, newProjector, oldQuery]);
    await eventually('the new one is seen', async () => (await ask('up == 1')).length === 3);
    expect(await names()).toEqual([]);

    await oldProjector.projector.stop();
    await watch([newProjector, oldQuery]);
    await eventually('it alerts', async () => (await names()).length > 0);
    expect(await firing()).toMatchObject([
      {
        labels: {
          alertname: ALERT,
          severity: 'critical',
          environment,
          generation: 'g1',
          projection_version: String(OLD),
        },
      },
    ]);
    // What watches for absence is content with access, which every release projects.
    expect(await ask('store_data_last_fetch_timestamp_seconds{generation="g1"}')).toEqual([]);
    expect(await ask('store_data_last_fetch_timestamp_seconds')).toMatchObject([
      { metric: { generation: 'control' } },
    ]);

    const newQuery = await startQueryOf(installation, PROJECTION_VERSION);
    expect(await runJson(installation.env, ['rebuild'])).toMatchObject({ generation: 2 });
    await eventually('the new release is ready', () => newProjector.projector.unreadyReason() === null);
    await watch([newProjector, newQuery]);
    await eventually('the alert ends', async () => (await names()).length === 0);
    expect(await generations('store_data_answering_generation')).toEqual(['g2']);
  },
);
