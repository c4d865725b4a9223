import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { beginRebuild } from '#admin/generations/rebuild.ts';
import { Servers } from '#admin/servers.ts';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { createLogger } from '#shared/logging.ts';
import { createFirstGeneration, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { type ApiClient, createApiClient, type ListBody } from '#test/api-client.ts';
import { keyEvent, orderEvent } from '#test/events.ts';
import { generationCaughtUp, statesOf } from '#test/generations.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startService, type ServiceProcess } from '#test/service-process.ts';
import { buildApp } from '../../../services/query/app.ts';
import { runCommand, runJson } from '../admin/run-command.ts';

const OLD = PROJECTION_VERSION - 1;
const silent = createLogger('test', 'silent');

describe('two releases with different projections', () => {
  const installation = useInstallation();
  let oldProjector: RunningProjector;
  let newProjector: ServiceProcess;
  let oldApp: FastifyInstance;
  let newApp: FastifyInstance;
  let oldApi: ApiClient;
  let newApi: ApiClient;
  let token = '';
  let published = 0;

  const startApp = async (projectionVersion?: number) => {
    const { config } = installation;
    const signingKeys = await loadSigningKeys(config.tokens);
    const app = await buildApp({
      config,
      logger: silent,
      signingKeys,
      ...(projectionVersion === undefined ? {} : { projectionVersion }),
    });
    return { app, api: createApiClient(await app.listen({ host: '127.0.0.1', port: 0 })) };
  };
  const publish = async () => {
    published += 1;
    await installation.publish([orderEvent(`o${published}`)]);
  };
  const countOf = async (api: ApiClient) => {
    const answer = await api.get('/api/order/list', token);
    return answer.status === 200 ? (answer.json as ListBody).count : answer.status;
  };
  /** Waits until an app gives an answer; asserts that it gives the former one until then. */
  const comesTo = (what: string, api: ApiClient, before: number, expected: number) =>
    eventually(what, async () => {
      const count = await countOf(api);
      expect([before, expected]).toContain(count);
      return count === expected;
    });

  const readiness = async (projector: ServiceProcess) => {
    const { url } = await projector.logged(({ msg }) => msg === 'operations server listens');
    const answer = await fetch(`${String(url)}/ready`);
    return [answer.status, await answer.json()] as const;
  };
  /** The generations of a query service, by its metrics. */
  const answering = async ({ services }: FastifyInstance) =>
    (await services.metrics.answeringGeneration.get()).values.map(
      ({ labels }) => `${labels.environment} ${labels.generation} ${labels.projection_version}`,
    );

  beforeAll(async () => {
    oldProjector = await startProjector(installation.config, silent, { projectionVersion: OLD });
    ({ app: oldApp, api: oldApi } = await startApp(OLD));
    await installation.publishAccess([keyEvent('k1', 1)]);
    await eventually(
      'the key counts',
      async () => (await oldApi.askToken('k1', 'secret')).status === 200,
    );
    token = await oldApi.token('k1', 'secret');
    await publish();
    await generationCaughtUp(installation, 1);
  });
  afterAll(async () => {
    newProjector?.kill('SIGKILL');
    await newProjector?.ended;
    await oldApp?.close();
    await newApp?.close();
    await oldProjector?.stop();
  });

  it('the new one does not touch the live generation, says so, and is not ready', async () => {
    newProjector = startService('projector', installation.env);
    const { msg } = await newProjector.logged(({ level }) => level === 40);
    const { environment } = installation;
    expect(msg).toBe(
      `the live generation of ${environment} has projection version ${OLD} and belongs to another release; this one has ${PROJECTION_VERSION} and leaves it alone: make a generation of its own with "store-data rebuild --environment ${environment}". Not ready until then: keep the projectors of the other release running`,
    );
    await newProjector.logged(({ msg: text }) => text === 'projector started');
    expect(await readiness(newProjector)).toEqual([503, { status: 'unavailable', reason: msg }]);
    expect(oldProjector.unreadyReason()).toBeNull();
    ({ app: newApp, api: newApi } = await startApp());
    expect([await countOf(oldApi), await countOf(newApi)]).toEqual([1, 503]);
    expect(oldApp.services.generations.otherReleaseReason()).toBeNull();
    expect(newApp.services.generations.otherReleaseReason()).toContain(
      `${environment}: the live generation 1`,
    );
    expect(await answering(oldApp)).toEqual([`${environment} g1 ${OLD}`]);
    expect(await answering(newApp)).toEqual([]);
  });

  it('the new one takes over after a rebuild, and the old one still answers from its generation', async () => {
    expect(await runJson(installation.env, 'rebuild --wait')).toMatchObject({ generation: 2 });
    expect([await countOf(oldApi), await countOf(newApi)]).toEqual([1, 503]);
    const { config, environment } = installation;
    const servers = new Servers({ config, origin: 'test' });
    const building =
      /generation 2 of .* is being built by another release, with projection version/;
    await expect(beginRebuild(servers.environmentOf({ environment }), null, OLD)).rejects.toThrow(
      building,
    );
    await servers.close();

    expect((await runCommand(installation.env, 'generations flip')).code).toBe(0);
    await comesTo('the new release answers', newApi, 503, 1);
    await eventually(
      'it is ready',
      () => newApp.services.generations.otherReleaseReason() === null,
    );
    await eventually(
      'its projector is ready',
      async () => (await readiness(newProjector))[0] === 200,
    );
    expect(await answering(newApp)).toEqual([
      `${installation.environment} g2 ${PROJECTION_VERSION}`,
    ]);
    // Its query services answer from the kept generation.
    expect(oldProjector.unreadyReason()).toBeNull();
    expect(await answering(oldApp)).toEqual([`${installation.environment} g1 ${OLD}`]);
    await publish();
    await comesTo('the new release continues', newApi, 1, 2);
    await comesTo('the old release continues', oldApi, 1, 2);
    expect(oldApp.services.generations.otherReleaseReason()).toBeNull();
  });

  it('a rollback returns to the old one’s generation, which lost nothing', async () => {
    expect(await runJson(installation.env, 'rollback')).toMatchObject({ from: 2, to: 1 });
    await publish();
    await comesTo('the old release continues', oldApi, 2, 3);
    await comesTo('the new release continues', newApi, 2, 3);
    expect((await readiness(newProjector))[0]).toBe(200);
    expect(await runJson(installation.env, 'rollback')).toMatchObject({ from: 1, to: 2 });
  });

  it('the old one has no generation after the drop, and changes nothing', async () => {
    expect((await runCommand(installation.env, 'generations drop 1 --yes')).code).toBe(0);
    expect(await statesOf(installation)).toEqual(['2 live']);
    await comesTo('the old release has no generation', oldApi, 3, 503);
    expect(oldApp.services.generations.otherReleaseReason()).toContain('the live generation 2');
    expect(await answering(oldApp)).toEqual([]);
    await eventually('its projector is not ready', () =>
      Boolean(oldProjector.unreadyReason()?.includes('Not ready until then')),
    );
    expect(oldProjector.isLive()).toBe(true);
    await publish();
    await comesTo('the new release continues', newApi, 3, 4);
  });
});

describe('a new release, if only one of two environments has a generation for it', () => {
  const installation = useInstallation({ environments: 2 });
  let projector: RunningProjector | null = null;
  beforeAll(async () => {
    const [one = '', other = ''] = installation.config.environments;
    await createFirstGeneration(installation.databases, one, PROJECTION_VERSION);
    await createFirstGeneration(installation.databases, other, OLD);
  });
  afterEach(() => projector?.stop());

  it.each([
    [
      'is not ready: the other one would no longer be projected',
      false,
      /^the live generation of .*-e1 has/,
    ],
    ['is ready while the other release projects it', true, null],
  ])('%s', async (_case, sideBySide, reason) => {
    const { config } = installation;
    projector = await startProjector(
      { ...config, projector: { ...config.projector, sideBySide } },
      silent,
    );
    if (reason === null) expect(projector.unreadyReason()).toBeNull();
    else expect(projector.unreadyReason()).toMatch(reason);
  });
});
