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

/**
 * Says for an environment which Redis was reconciled with MongoDB, and by which reconciliation. Not the name that releases
 * before had, whose marks look otherwise: beside each other they would go on replacing each other's.
 */
export function reconciledKey(prefix: string, environment: string): string {
  return `${prefix}:reconciliation:${environment}`;
}

/** Becomes the mark of an environment when the reconciliation of that name ends. */
export function reconcilingMarkKey(prefix: string, environment: string, reconciliation: string): string {
  return `${prefix}:reconciling-mark:${reconciliation}:${environment}`;
}

/** Held by the instance that reconciles a server just now. */
export function reconcilingKey(prefix: string, serverId: string): string {
  return `${prefix}:reconciling:${serverId}`;
}

/** Where an instance of the query service leaves its trail. */
export function trailKey(prefix: string, instance: string): string {
  return `${prefix}:trail:${instance}`;
}
