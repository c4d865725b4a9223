/** A query service for one test file: an installation, a projector, and a listening app. */
import type { FastifyInstance } from 'fastify';
import { controlCollections } from '#shared/access/access-keys.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { type Config, readConfig } from '#shared/config.ts';
import { createLogger, type Logger } from '#shared/logging.ts';
import { SCOPES } from '#shared/events/access-event.ts';
import { buildApp } from '../../services/query/app.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import { eventually } from './eventually.ts';
import { changeEvent, type TestChange } from './events.ts';
import { createInstallation, type Installation, type InstallationOptions } from './installation.ts';
import { restartableProjector } from './projectors.ts';
import { caughtUp } from './read-models.ts';

export interface RunningApp extends AsyncDisposable {
  app: FastifyInstance;
  url: string;
  api: ApiClient;
  close: () => Promise<void>;
}

export interface QueryService extends RunningApp {
  installation: Installation;
  stopProjector: () => Promise<void>;
  startProjector: () => Promise<void>;
  /** Publishes a key, and waits until it is applied. */
  setKey: (key: TestKey) => Promise<void>;
  /** Publishes a key, and gets a token with its first secret. */
  tokenOf: (key: TestKey) => Promise<string>;
  /** A token with all scopes for a store: the same at each call. */
  tokenFor: (storeId: string) => Promise<string>;
  /** Gets a path with that token, by default of the store `s1`. */
  get: (
    path: string,
    storeId?: string,
    headers?: Record<string, string>,
  ) => ReturnType<ApiClient['get']>;
  /** The same of a list. */
  list: (path: string, storeId?: string) => ReturnType<ApiClient['list']>;
  /** The collections of keys, stores and sessions. */
  control: ReturnType<typeof controlCollections>;
  /** The Redis keys of a store in the first environment. */
  inRedis: (storeId: string) => ReturnType<typeof redisKeys>;
  apply: (changes: TestChange[], environment?: string) => Promise<void>;
}

export interface TestKey {
  clientId: string;
  storeId?: string;
  environment?: string;
  secrets?: string[];
  scopes?: string[];
  status?: 'active' | 'inactive' | 'revoked';
}

/** Starts an app on a free port. */
export async function startApp(config: Config, logger?: Logger): Promise<RunningApp> {
  const app = await buildApp({
    config,
    logger: logger ?? createLogger('query', 'silent'),
    signingKeys: await loadSigningKeys(config.tokens),
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const close = () => app.close();
  return { app, url, api: createApiClient(url), close, [Symbol.asyncDispose]: close };
}

/** Starts an app of an installation with more environment variables. */
export function startAppWith({ env }: Installation, settings: Record<string, string>) {
  return startApp(readConfig({ ...env, ...settings }));
}

/** Starts everything; `settings` are environment variables of the installation. */
export async function startQueryService(
  options: InstallationOptions & { logger?: Logger } = {},
): Promise<QueryService> {
  const installation = await createInstallation(options);
  const { config, environment } = installation;
  const projector = restartableProjector(installation);
  await projector.start();
  const running = await startApp(config, options.logger);
  const control = controlCollections(installation.databases.control);
  let sequence = 0;

  const setKey = async ({
    clientId,
    storeId = 's1',
    secrets = ['secret'],
    scopes = [...SCOPES],
    status = 'active',
    environment: of,
  }: TestKey) => {
    sequence += 1;
    const data = { secret_sha256: secrets.map(hashSecret), scopes, status };
    const event = { entity: 'access_key', storeId, subject: clientId, sequence, data };
    // Other calls go on counting while this one publishes.
    const filter = { _id: clientId, sequence, publish_pending: { $exists: false } } as const;
    await installation.publishAccess([event], of);
    await eventually(`key ${clientId} is applied`, async () => {
      return (await control.keys.findOne(filter)) !== null;
    });
  };

  const tokenOf = async (key: TestKey) => {
    await setKey(key);
    return running.api.token(key.clientId, key.secrets?.[0] ?? 'secret');
  };

  const tokens = new Map<string, Promise<string>>();
  const tokenFor = (storeId: string) => {
    const token = tokens.get(storeId) ?? tokenOf({ clientId: `key-${storeId}`, storeId });
    tokens.set(storeId, token);
    return token;
  };

  const apply = async (changes: TestChange[], name = environment) => {
    const events = changes.map((change) => {
      sequence += 1;
      return changeEvent(change, sequence);
    });
    await installation.publish(events, name);
    await caughtUp(installation, name);
  };

  const close = async () => {
    await running.app.close();
    await projector.stop();
    await installation.close();
  };
  return {
    ...running,
    installation,
    stopProjector: projector.stop,
    startProjector: projector.start,
    setKey,
    tokenOf,
    tokenFor,
    get: async (path, storeId = 's1', headers = {}) =>
      running.api.get(path, await tokenFor(storeId), headers),
    list: async (path, storeId = 's1') => running.api.list(path, await tokenFor(storeId)),
    control,
    inRedis: (storeId) => redisKeys(config.namePrefix, environment, storeId),
    apply,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The sum of a metric over all instances, with given labels or over all labels. */
export async function sumOf(instances: readonly RunningApp[], metric: string): Promise<number> {
  const texts = await Promise.all(
    instances.map(({ app }) => app.services.metrics.registry.metrics()),
  );
  const own = texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line.startsWith(metric) && /^[ {]/.test(line.slice(metric.length)));
  return own.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
