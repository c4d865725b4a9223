/** Names of the Redis keys. All keys of a store share one hash tag, so that Redis Cluster keeps them together. */

export interface RedisKeys {
  session: (sessionId: string) => string;
  grant: (clientId: string) => string;
  storeAccess: string;
  /** The count of a window, by its length. */
  quota: (windowSeconds: number) => string;
}

/** The keys of one store in one environment. */
export function redisKeys(prefix: string, environment: string, storeId: string): RedisKeys {
  const tag = `${prefix}:{${storeId}:${environment}}`;
  return {
    session: (sessionId) => `${tag}:session:${sessionId}`,
    grant: (clientId) => `${tag}:grant:${clientId}`,
    storeAccess: `${tag}:store-access`,
    quota: (windowSeconds) => `${tag}:quota:${windowSeconds}`,
  };
}

/** Says for an environment which Redis was reconciled with MongoDB: the value is the identity of that server. */
export function reconciledKey(prefix: string, environment: string): string {
  return `${prefix}:reconciled:${environment}`;
}

/** Held by the instance that reconciles a server just now. */
export function reconcilingKey(prefix: string, serverId: string): string {
  return `${prefix}:reconciling:${serverId}`;
}
