/** Keys that come and go: each is made, gets a token once it counts, asks with it, is revoked, and is refused from then on. */
import { SCOPES } from '#shared/events/access-event.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { describeError } from '#shared/errors.ts';
import { pause } from '#shared/waiting.ts';
import type { Installation } from '#test/installation.ts';
import { publishKeys } from '../query/tokens.ts';
import { Client, type Surroundings, tokenRequest } from './client.ts';

const EVERY_MS = 30_000;
const POLL_MS = 200;
const LIMIT_MS = 60_000;
const LIST = { path: '/api/order/list', isTimed: false };

/** One key after the other, until the signal is aborted. */
export async function makeAndRevoke(
  installation: Installation,
  storeIds: readonly string[],
  surroundings: Surroundings,
  over: AbortSignal,
): Promise<void> {
  for (let turn = 0; await pause(EVERY_MS, over); turn += 1) {
    const storeId = storeIds[turn % storeIds.length] ?? '';
    try {
      await oneKey(installation, storeId, surroundings, over);
    } catch (error) {
      surroundings.tally.wrong('publishing a key', describeError(error));
    }
  }
}

async function oneKey(
  installation: Installation,
  storeId: string,
  surroundings: Surroundings,
  over: AbortSignal,
): Promise<void> {
  const { tally } = surroundings;
  const [key] = await publishKeys(installation, [storeId]);
  if (key === undefined) return;
  const client = new Client(key, surroundings);
  const until = async (kind: string, isSo: () => Promise<boolean>) => {
    const began = performance.now();
    while (!(await isSo())) {
      if (performance.now() - began > LIMIT_MS) return tally.wrong(kind, 'not in time');
      if (!(await pause(POLL_MS, over))) return;
    }
    tally.answered(kind, performance.now() - began);
  };
  await until('new key counts', async () => {
    const answer = await client.send({ ...tokenRequest(key, 'new key', [200, 401]), isTimed: false });
    return answer?.status === 200;
  });
  await client.get({ ...LIST, kind: 'new key', expected: [200] });
  const data = { secret_sha256: hashSecret(key.secret), scopes: SCOPES, status: 'revoked' };
  await installation.publishAccess([{ entity: 'access_key', storeId, subject: key.clientId, sequence: 2, data }]);
  await until('revoked key is refused', async () => {
    const answer = await client.get({ ...LIST, kind: 'revoked key', expected: [200, 401] });
    return answer?.status === 401;
  });
}
