import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { beginRebuild } from '#admin/generations/rebuild.ts';
import { createServers } from '#admin/servers.ts';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { createLogger } from '#shared/logging.ts';
import { createFirstGeneration, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { type ApiClient, createApiClient, type ListBody } from '#test/api-client.ts';
import { keyEvent, orderEvent } from '#test/events.ts';
import { generationCaughtUp, statesOf } from '#test/generations.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { buildApp } from '../../../services/query/app.ts';
import { runJson } from '../admin/run-command.ts';

const OLD = PROJECTION_VERSION - 1;
const silent = createLogger('test', 'silent');

interface Release {
  projector: RunningProjector;
  app: FastifyInstance;
  api: ApiClient;
}

/** What projector and query service wait for; `test/released` reads it from their ports. */
const waitFor = ({ projector, app }: Release) => [
  projector.unreadyReason(),
  app.services.generations.otherReleaseReason(),
];

/** The generations that a query service answers from, by its metrics. */
const answering = async ({ app }: Release) =>
  (await app.services.metrics.answeringGeneration.get()).values.map(
    ({ labels }) => `${labels.generation} ${labels.projection_version}`,
  );

describe('two releases with different projections', () => {
  const installation = useInstallation();
  const stopping: (() => Promise<unknown>)[] = [];
  let before: Release;
  let next: Release;
  let token = '';
  let published = 0;

  const start = async (version: { projectionVersion?: number } = {}): Promise<Release> => {
    const { config } = installation;
    const projector = await startProjector(config, silent, version);
    const signingKeys = await loadSigningKeys(config.tokens);
    const app = await buildApp({ config, logger: silent, signingKeys, ...version });
    stopping.push(
      () => app.close(),
      () => projector.stop(),
    );
    return {
      projector,
      app,
      api: createApiClient(await app.listen({ host: '127.0.0.1', port: 0 })),
    };
  };
  const publish = async () => {
    published += 1;
    await installation.publish([orderEvent(`o${published}`)]);
  };
  const countOf = async ({ api }: Release) => {
    const answer = await api.get('/api/order/list', token);
    return answer.status === 200 ? (answer.json as ListBody).count : answer.status;
  };
  /** Waits until a release gives an answer; asserts that it gives the former one until then. */
  const comesTo = (release: Release, former: number, expected: number) =>
    eventually(`it answers ${expected}`, async () => {
      const count = await countOf(release);
      expect([former, expected]).toContain(count);
      return count === expected;
    });

  beforeAll(async () => {
    before = await start({ projectionVersion: OLD });
    await installation.publishAccess([keyEvent('k1', 1)]);
    await eventually(
      'the key counts',
      async () => (await before.api.askToken('k1', 'secret')).status === 200,
    );
    token = await before.api.token('k1', 'secret');
    await publish();
    await generationCaughtUp(installation, 1);
    next = await start();
  });
  afterAll(() => Promise.all(stopping.map((stop) => stop())));

  it('the new one takes over after a rebuild, and the old one still answers from its generation', async () => {
    expect(await runJson(installation.env, 'rebuild --wait')).toMatchObject({ generation: 2 });
    expect([await countOf(before), await countOf(next)]).toEqual([1, 503]);
    expect(waitFor(next)).not.toContain(null);
    const { config, environment } = installation;
    await using servers = createServers({ config, origin: 'test' });
    const building =
      /generation 2 of .* is being built by another release, with projection version/;
    await expect(beginRebuild(servers.environmentOf({ environment }), null, OLD)).rejects.toThrow(
      building,
    );

    await runJson(installation.env, 'generations flip');
    await comesTo(next, 503, 1);
    await eventually('it is ready', () => waitFor(next).every((reason) => reason === null));
    await publish();
    await comesTo(next, 1, 2);
    await comesTo(before, 1, 2);
    expect(waitFor(before)).toEqual([null, null]);
    expect([await answering(before), await answering(next)]).toEqual([
      [`g1 ${OLD}`],
      [`g2 ${PROJECTION_VERSION}`],
    ]);
  });

  it('a rollback returns to the old one’s generation, which lost nothing', async () => {
    expect(await runJson(installation.env, 'rollback')).toMatchObject({ from: 2, to: 1 });
    await publish();
    await comesTo(before, 2, 3);
    await comesTo(next, 2, 3);
    expect(waitFor(next)).toEqual([null, null]);
    expect(await runJson(installation.env, 'rollback')).toMatchObject({ from: 1, to: 2 });
  });

  it('the old one has no generation after the drop, and changes nothing', async () => {
    await runJson(installation.env, 'generations drop 1 --yes');
    expect(await statesOf(installation)).toEqual(['2 live']);
    await comesTo(before, 3, 503);
    expect(await answering(before)).toEqual([]);
    await eventually('it is not ready', () => !waitFor(before).includes(null));
    expect(before.projector.isLive()).toBe(true);
    await publish();
    await comesTo(next, 3, 4);
  });
});

describe('a new release, if only one of two environments has a generation for it', () => {
  const installation = useInstallation({ environments: 2 });
  let projector: RunningProjector;
  beforeAll(async () => {
    const [one = '', other = ''] = installation.config.environments;
    await createFirstGeneration(installation.databases, one, PROJECTION_VERSION);
    await createFirstGeneration(installation.databases, other, OLD);
  });
  afterEach(() => projector.stop());

  it.each([
    ['is not ready: the other one would no longer be projected', false],
    ['is ready while the other release projects it', true],
  ])('%s', async (_case, sideBySide) => {
    const { config } = installation;
    const settings = { ...config, projector: { ...config.projector, sideBySide } };
    projector = await startProjector(settings, silent);
    expect(projector.unreadyReason()).toEqual(
      sideBySide ? null : expect.stringMatching(/^the live generation of .*-e1 has/),
    );
  });
});
