/** The API server of Kubernetes for one test, with an etcd and without controllers or nodes. */
import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { cacheFolder } from '#local/stack/fetch.ts';
import { freePorts } from '#local/stack/program.ts';
import { debianPackages } from '#test/debian-packages.ts';
import { eventually } from '#test/installation.ts';
import { makeHome } from './home.ts';
import { makeServer } from './server.ts';

/** A module that only names the program and its dependencies. */
const MODULE = join(import.meta.dirname, '../../deploy/helm/api-server');
const VERSION = '1.36.0';
const BUILD_MS = 3_600_000;
const READY_MS = 180_000;
const TOKEN = 'administrator';

export interface ApiServer {
  /** The configuration file for helm. */
  kubeconfig: string;
  /** Sends a request; throws if it is refused. */
  ask: (method: string, path: string, body?: object) => Promise<unknown>;
  close: () => Promise<void>;
}

/**
 * Downloads or builds the programs, and caches them. Rejects with the reason if they are
 * unavailable.
 */
export async function findApiServer(): Promise<{ apiServer: string; etcd: string }> {
  const etcd = join(await debianPackages(['etcd-server']), 'usr', 'bin', 'etcd');
  const apiServer = join(cacheFolder(process.env), `kube-apiserver-${VERSION}`);
  if (!existsSync(apiServer)) {
    process.stderr.write('building the API server of Kubernetes, once; this takes many minutes\n');
    const built = `${apiServer}.${randomUUID()}`;
    // Helm reads the release.
    const flags = `-X k8s.io/component-base/version.gitVersion=v${VERSION}`;
    const args = [
      'build',
      '-mod=readonly',
      '-ldflags',
      flags,
      '-o',
      built,
      'k8s.io/kubernetes/cmd/kube-apiserver',
    ];
    await promisify(execFile)('go', args, { cwd: MODULE, timeout: BUILD_MS });
    await rename(built, apiServer);
  }
  return { apiServer, etcd };
}

/** Starts the server; its token allows everything. */
export async function startApiServer(programs: {
  apiServer: string;
  etcd: string;
}): Promise<ApiServer> {
  const home = await makeHome();
  const [port = 0, clients = 0, peers = 0] = await freePorts(3);
  const etcdRoom = await home.room('etcd');
  const room = await home.room('kube-apiserver');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const key = join(room.data, 'accounts.key');
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(
    join(room.data, 'tokens.csv'),
    `${TOKEN},administrator,administrator,system:masters\n`,
  );
  const etcdArgs = [
    `--data-dir=${etcdRoom.data}`,
    `--listen-client-urls=http://127.0.0.1:${clients}`,
    `--advertise-client-urls=http://127.0.0.1:${clients}`,
    `--listen-peer-urls=http://127.0.0.1:${peers}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peers}`,
    `--initial-cluster=default=http://127.0.0.1:${peers}`,
  ];
  const args = [
    `--etcd-servers=http://127.0.0.1:${clients}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${room.data}`,
    `--token-auth-file=${join(room.data, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    // The controller that would create accounts does not run.
    '--disable-admission-plugins=ServiceAccount',
  ];
  const { guard } = home.context;
  const env = process.env;
  const servers = [
    makeServer(guard, { file: programs.etcd, args: etcdArgs, env }, clients, etcdRoom.logFile),
    makeServer(guard, { file: programs.apiServer, args, env }, port, room.logFile),
  ];
  const close = async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await home.close();
  };
  const ask: ApiServer['ask'] = async (method, path, body) => {
    const ca = await readFile(join(room.data, 'apiserver.crt'));
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type };
    const asked = request({ host: '127.0.0.1', port, path, method, headers, ca });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const answer = await text(response);
    const { statusCode = 0 } = response;
    if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${answer}`);
    return path === '/readyz' ? answer : (JSON.parse(answer) as unknown);
  };
  try {
    for (const server of servers) await server.start();
    await eventually(
      'the API server is ready',
      async () => {
        if (servers.every((server) => server.isRunning()))
          return ask('GET', '/readyz').then(
            () => true,
            () => false,
          );
        throw new Error(`it ended: ${(await readFile(room.logFile, 'utf8')).slice(-2_000)}`);
      },
      READY_MS,
    );
  } catch (error) {
    await close();
    throw error;
  }
  const kubeconfig = join(room.data, 'kubeconfig.json');
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    'certificate-authority': join(room.data, 'apiserver.crt'),
  };
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user: { token: TOKEN } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      'current-context': 'test',
    }),
  );
  return { kubeconfig, ask, close };
}
