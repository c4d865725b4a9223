/** A revocation ends its key, whatever else its event contains and whenever it arrives. */
import { expect, it } from 'vitest';
import { hashSecret } from '#shared/access/secrets.ts';
import { DEAD_LETTERS } from '#shared/read-models/collections.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';

const service = useQueryService({ environments: 2 });

const letters = () =>
  service.installation.databases.control.collection<{ reason: string }>(DEAD_LETTERS);
const HASH = hashSecret('secret');
const ACTIVE = { secret_sha256: HASH, scopes: ['order'], status: 'active' };

function key(subject: string, sequence: number, data: object, storeId = 's1') {
  return { entity: 'access_key' as const, storeId, subject, sequence, data };
}

const statusOf = async (clientId: string) =>
  (await service.control.keys.findOne({ _id: clientId }))?.status;

it('a revocation takes effect at any place in a slice, even before its key is created', async () => {
  const revoked = { ...ACTIVE, secret_expires_at: { [HASH]: null }, status: 'revoked' };
  await service.installation.publishAccess([
    key('behind', 10, ACTIVE),
    key('behind', 3, revoked),
    key('between', 10, ACTIVE),
    key('between', 3, revoked),
    key('between', 11, ACTIVE),
    key('before', 3, revoked),
    key('before', 10, ACTIVE),
    key('last', 1, ACTIVE),
  ]);
  await eventually('all is applied', async () => (await statusOf('last')) === 'active');
  for (const name of ['behind', 'between', 'before']) {
    expect([name, await statusOf(name)]).toEqual([name, 'revoked']);
    expect((await service.api.askToken(name, 'secret')).status).toBe(401);
  }
  expect(await letters().countDocuments()).toBe(0);
});

it('a revocation of a key of another store or environment is poison and ends nothing', async () => {
  await service.setKey({ clientId: 'bound' });
  const { environments } = service.installation.config;
  await service.installation.publishAccess([key('bound', 99, { status: 'revoked' }, 's2')]);
  await service.installation.publishAccess(
    [key('bound', 99, { status: 'revoked' })],
    environments[1],
  );
  await eventually('both are dead letters', async () => (await letters().countDocuments()) === 2);
  expect(await letters().distinct('reason')).toEqual(['bound_elsewhere']);
  expect((await service.api.askToken('bound', 'secret')).status).toBe(200);
});
