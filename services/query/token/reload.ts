/** Brings a client's key from MongoDB to Redis where Redis has less: lost, older, or not there yet. */
import {
  type AccessKey,
  type ControlCollections,
  storeAccessId,
  validSecrets,
} from '#shared/access/access-keys.ts';
import { publishAll, publishedKey, publishedState } from '#shared/access/grants.ts';
import type { RedisHolders } from '#shared/redis-masters.ts';
import { secretMatches } from '#shared/access/secrets.ts';
import { batched, type ReadOne } from '../batched.ts';
import type { Bounded } from '../deadline.ts';
import type { Credentials } from './basic.ts';
import type { Decision, DecisionSources } from './decision.ts';

export interface KeySources extends DecisionSources {
  redis: RedisHolders;
  control: ControlCollections;
  readKey: ReadOne<AccessKey>;
}

/** Makes the read of keys: whoever waits while one is under way shares the next, so that a flood of failures costs few. */
export function keyReader({ keys }: ControlCollections, bounded: Bounded): ReadOne<AccessKey> {
  return batched(
    async (ids) => {
      const found = await bounded((signal) => keys.find({ _id: { $in: [...ids] } }, { signal }).toArray());
      return new Map(found.map((key) => [key._id, key]));
    },
    { underWay: 1, ids: 1_000 },
  );
}

/**
 * Asks MongoDB about credentials that Redis did not accept. It is asked alike, and as much is compared, whether there is a key or not.
 * @returns whether Redis has something now by which to decide again.
 */
export async function reloadKey(
  { redis, prefix, control, environments, readKey }: KeySources,
  { clientId, clientSecret }: Credentials,
  decision: Decision,
  bounded: Bounded,
): Promise<boolean> {
  const key = await bounded((signal) => readKey(clientId, signal));
  const isRight = secretMatches([clientSecret], key === null ? [] : validSecrets(key));
  if (key === null) return false;
  const isAccepted = isRight && key.status !== 'revoked' && environments.includes(key.environment);
  if (!isAccepted && decision.outcome !== 'out_of_date') return false;
  const { environment, store_id: storeId } = key;
  const _id = storeAccessId(environment, storeId);
  const store = await bounded((signal) => control.stores.findOne({ _id }, { signal }));
  const [client, grant] = publishedKey(prefix, key);
  // A newer grant that MongoDB, read after it, does not know: it was restored from a backup. Its secrets are the newest that are known.
  const grantVersion = decision.outcome === 'out_of_date' ? decision.grantVersion : 0;
  const version = Math.max(client.version, grantVersion);
  await publishAll(redis, [
    { ...client, version },
    grant,
    publishedState(prefix, environment, storeId, store),
  ]);
  return true;
}
