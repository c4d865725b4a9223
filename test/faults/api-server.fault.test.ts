/**
 * A real API server accepts every object of every example, at an installation and an upgrade, hooks
 * first.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#test/installation.ts';
import { fetchDefinitions, fetchHelm } from '../deploy/helm/fetched.ts';
import { type ApiServer, findApiServer, startApiServer } from './servers/api-server.ts';

const CHART = 'deploy/helm/store-data';
const BUILD_MS = 3_600_000;

interface Job {
  metadata: { name: string; uid: string };
  status: { succeeded?: number };
}

interface Workload {
  metadata: { name: string };
  spec: { template: { metadata: object; spec: object } };
}

describe('the API server of Kubernetes', () => {
  let helm: (...args: string[]) => Promise<string>;
  let server: ApiServer | null = null;
  let missing = '';
  const ask: ApiServer['ask'] = (...args) => {
    if (server === null) throw new Error('there is no API server');
    return server.ask(...args);
  };
  beforeAll(async () => {
    try {
      const [programs, tools] = [await findApiServer(), await fetchHelm()];
      server = await startApiServer(programs);
      const env = { ...process.env, KUBECONFIG: server.kubeconfig };
      helm = async (...args) => (await promisify(execFile)(tools.helm, args, { env })).stdout;
      // Objects that the examples name and the chart does not create.
      const online = { metadata: { name: 'online' }, value: 1_000 };
      await ask('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', online);
      for (const definition of await fetchDefinitions())
        await ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
      await eventually('it knows the kinds of others', async () => {
        const { groups } = (await ask('GET', '/apis')) as { groups: { name: string }[] };
        return ['keda.sh', 'monitoring.coreos.com'].every((group) =>
          groups.some(({ name }) => name === group),
        );
      });
    } catch (error) {
      missing = `the chart is not given to an API server: ${String(error)}`;
      process.stderr.write(`${missing}\n`);
    }
  }, BUILD_MS);
  beforeEach(({ skip }) => {
    if (missing !== '') skip(missing);
  });
  afterAll(() => server?.close());

  /** Acts as the job controller: marks every job as succeeded. @returns their names. */
  async function endJobs(namespace: string, ended: Set<string>): Promise<void> {
    const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
    const { items } = (await ask('GET', jobs)) as { items: Job[] };
    for (const { metadata, status } of items) {
      if (status.succeeded !== undefined) continue;
      const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      const condition = (type: string) => ({
        type,
        status: 'True',
        lastProbeTime: now,
        lastTransitionTime: now,
      });
      await ask('PATCH', `${jobs}/${metadata.name}/status`, {
        status: {
          startTime: now,
          completionTime: now,
          succeeded: 1,
          uncountedTerminatedPods: {},
          conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
        },
      });
      ended.add(metadata.uid);
    }
  }

  /** Runs helm, and lets hook jobs succeed meanwhile. @returns the number of jobs. */
  async function deploy(namespace: string, ...args: string[]): Promise<number> {
    const jobs = new Set<string>();
    const deployed = helm(...args, `--namespace=${namespace}`);
    let isOver = false;
    const over = deployed.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    await eventually('helm is done', async () => {
      if (!isOver) await endJobs(namespace, jobs);
      return isOver;
    });
    await deployed;
    return jobs.size;
  }

  it.each(['least', 'production', 'fixed'])(
    'accepts the example %s and its upgrade',
    async (example) => {
      const namespace = {
        metadata: { name: example, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
      };
      await ask('POST', '/api/v1/namespaces', namespace);
      const values = `--values=deploy/helm/examples/${example}.yaml`;
      const hooks = example === 'fixed' ? 0 : 1;
      expect(await deploy(example, 'install', 'store-data', CHART, values)).toBe(hooks);
      const upgrade = ['upgrade', 'store-data', CHART, values, '--set=settings.LOG_FORMAT=names'];
      expect(await deploy(example, ...upgrade)).toBe(hooks);
      expect(
        JSON.parse(await helm('status', 'store-data', `--namespace=${example}`, '--output=json')),
      ).toMatchObject({
        version: 2,
        info: { status: 'deployed' },
      });
      const path = `/apis/apps/v1/namespaces/${example}/deployments`;
      const { items } = (await ask('GET', path)) as { items: Workload[] };
      expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(
        ['operator', 'projector', 'query'].map((name) => `store-data-${name}`),
      );
      // The namespace admits only pods that meet the restricted standard.
      for (const { metadata, spec } of items) {
        const admit = (more: object) =>
          ask('POST', `/api/v1/namespaces/${example}/pods?dryRun=All`, {
            metadata: { ...spec.template.metadata, name: metadata.name },
            spec: { ...spec.template.spec, ...more },
          });
        await admit({});
        await expect(admit({ hostNetwork: true })).rejects.toThrow(
          /violates PodSecurity .*restricted/,
        );
      }
      await helm('uninstall', 'store-data', `--namespace=${example}`);
    },
  );
});
