/** Processes of the previous release and of this one run on the same servers, as in every upgrade and rollback. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import { type ApiClient, createApiClient } from '#test/api-client.ts';
import { caughtUp } from '#test/read-models.ts';
import { killAll, type ServiceProcess } from '#test/service-process.ts';
import { done, RELEASES, type Running, startRelease, whyNoReleaseBefore } from './release-before.ts';
import { words } from '#test/words.ts';

const ENTITIES = ['store', 'order', 'customer', 'review', 'category', 'product'] as const;
/** Feed entries have had a kind since then; upgrade.integration.test.ts follows feeds through all releases. */
const PATHS = words(
  '/api/store/info/ /api/order/list /api/order/list?status=pending&page=1',
  '/api/order/details/?order_id= /api/customer/list /api/review/list /api/product/list',
  '/api/menu/ /api/order/lists',
);

const absent = whyNoReleaseBefore();

type Release = keyof typeof RELEASES;

describe.skipIf(absent !== undefined)('the previous release and this one on the same servers', () => {
  const installation = useInstallation();
  const running: ServiceProcess[] = [];
  const apis = {} as Record<Release, ApiClient>;

  const start = (release: Release, name: 'projector' | 'query') =>
    startRelease(RELEASES[release](), name, installation.env, running);
  const stop = async ({ process }: Running) => {
    process.kill('SIGTERM');
    await process.ended;
  };
  const command = async <T>(release: Release, words: string): Promise<T> =>
    JSON.parse(await done(RELEASES[release](), installation.env, `${words} --json`)) as T;
  const createKey = (release: Release) => {
    const words = `keys create -s s1 -e ${installation.environment} --scopes store,crm,order,menu`;
    return command<{ client_id: string; client_secret: string }>(release, words);
  };
  let sequence = 100;
  const publish = async () => {
    sequence += 1;
    const events = ENTITIES.map((entity) => {
      const { subject, data } = exampleEvent(entity);
      return { entity, storeId: 's1', subject, sequence, data };
    });
    await installation.publish(events);
    await caughtUp(installation);
  };
  /** The answers of both releases to the same requests. */
  const answersOf = async (release: Release, token: string) =>
    Promise.all(
      PATHS.map(async (path) => {
        const whole = path.endsWith('=') ? path + encodeURIComponent(exampleEvent('order').subject) : path;
        const { status, headers, text } = await apis[release].get(whole, token);
        return { path: whole, status, etag: headers.get('etag'), type: headers.get('content-type'), text };
      }),
    );
  const expectSameAnswers = async (token: string) => {
    const before = await answersOf('before', token);
    expect(await answersOf('this', token)).toEqual(before);
    expect(before.map(({ status }) => status)).toEqual([...Array(PATHS.length - 1).fill(200), 404]);
  };

  let projectorBefore: Running;
  beforeAll(async () => {
    projectorBefore = await start('before', 'projector');
    for (const release of ['before', 'this'] as const) {
      apis[release] = createApiClient((await start(release, 'query')).url);
    }
  });
  afterAll(() => killAll(running));

  it('give the same answers from read models of the previous release, and of this one after it', async () => {
    const { client_id: clientId, client_secret: secret } = await createKey('before');
    await publish();
    const token = await apis.before.token(clientId, secret);
    await expectSameAnswers(token);
    // As in a rolling update, the new one starts before the old one stops.
    const projector = await start('this', 'projector');
    await stop(projectorBefore);
    await publish();
    await expectSameAnswers(token);
    // The rollback.
    projectorBefore = await start('before', 'projector');
    await stop(projector);
    await publish();
    await expectSameAnswers(token);
  });

  it.each([
    ['before', 'this'],
    ['this', 'before'],
  ] as const)('a key and its tokens of one (%s) count at the other, until the other revokes it', async (one, other) => {
    const { client_id: clientId, client_secret: secret } = await createKey(one);
    const tokens = [await apis[one].token(clientId, secret), await apis[other].token(clientId, secret)];
    const statuses = async () => {
      const asked = tokens.flatMap((token) => [
        apis.before.get('/api/store/info/', token),
        apis.this.get('/api/store/info/', token),
      ]);
      return (await Promise.all(asked)).map(({ status }) => status);
    };
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    await command(other, `keys revoke ${clientId}`);
    expect(await statuses()).toEqual([401, 401, 401, 401]);
    expect((await apis.before.askToken(clientId, secret)).status).toBe(401);
    expect((await apis.this.askToken(clientId, secret)).status).toBe(401);
  });

  it('this one shows and drops a dead letter of the previous release', async () => {
    const { environment } = installation;
    await installation.send(changesTopic(environment), [{ key: 's1', value: 'no event' }]);
    await caughtUp(installation);
    const listBy = async (release: Release) => {
      const listed = await command<{ dead_letters: { id: string }[] }>(release, 'dead-letters list');
      return listed.dead_letters.map(({ id }) => id);
    };
    const [id = ''] = await listBy('before');
    expect(await listBy('this')).toEqual([id]);
    await command('this', `dead-letters drop -y ${id}`);
    expect([await listBy('this'), await listBy('before')]).toEqual([[], []]);
  });
});
