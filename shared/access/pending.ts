/** What was decided in MongoDB and Redis is not known to have yet. */
import type { OwnerOfKeys } from '../redis-masters.ts';
import type { AccessKey, ControlCollections, RevokedSession, StoreAccess } from './access-keys.ts';
import { publishAll, publishedBlocking, publishedKey } from './grants.ts';
import { endOwnSessions } from './sessions.ts';

export interface PendingAccess {
  keys: AccessKey[];
  stores: StoreAccess[];
  sessions: RevokedSession[];
}

interface Row {
  key?: AccessKey;
  store?: StoreAccess;
  session?: RevokedSession;
}

/** Finds what is marked, by indexes that are empty almost always: with one command, since every process asks every second. */
export async function findPending(
  { keys, stores, revokedSessions }: ControlCollections,
  environments: readonly string[],
  signal?: AbortSignal,
): Promise<PendingAccess> {
  const marked = { publish_pending: true, environment: { $in: [...environments] } } as const;
  const as = (kind: keyof Row) => [{ $match: marked }, { $project: { _id: 0, [kind]: '$$ROOT' } }];
  const rows = await keys
    .aggregate<Row>(
      [
        ...as('key'),
        { $unionWith: { coll: stores.collectionName, pipeline: as('store') } },
        { $unionWith: { coll: revokedSessions.collectionName, pipeline: as('session') } },
      ],
      signal === undefined ? {} : { signal },
    )
    .toArray();
  return {
    keys: rows.flatMap(({ key }) => key ?? []),
    stores: rows.flatMap(({ store }) => store ?? []),
    sessions: rows.flatMap(({ session }) => session ?? []),
  };
}

/** Brings to one server what it is to hold of it, without removing the marks: that is for those who write to MongoDB. */
export async function publishPending(
  master: OwnerOfKeys,
  prefix: string,
  { keys, stores, sessions }: PendingAccess,
): Promise<void> {
  const records = [
    ...keys.flatMap((key) => publishedKey(prefix, key)),
    ...stores.map((store) => publishedBlocking(prefix, store)),
  ];
  await publishAll(
    master,
    records.filter(({ redisKey }) => master.owns(redisKey)),
  );
  await endOwnSessions(master, prefix, sessions);
}
