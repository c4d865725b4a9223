/** Names of the Redis keys. All keys of a store share one hash tag, so that Redis Cluster keeps them together. */

/** The keys of one store in one environment. */
export function redisKeys(prefix: string, environment: string, storeId: string) {
  const tag = `${prefix}:{${storeId}:${environment}}`;
  return {
    session: (sessionId: string) => `${tag}:session:${sessionId}`,
    grant: (clientId: string) => `${tag}:grant:${clientId}`,
    storeAccess: `${tag}:store-access`,
    /** The count of a window, by its length; without one, what such names begin with. */
    quota: (windowSeconds: number | '') => `${tag}:quota:${windowSeconds}`,
  };
}

/** A client's record. By the `client_id` alone: who asks for a token does not say to which store it belongs. */
export function clientKey(prefix: string, clientId: string): string {
  return `${prefix}:client:${clientId}`;
}

/**
 * The number of what a reconciliation puts into Redis. A release that puts more there takes the next one: the marks of
 * earlier releases then prove nothing to it, and releases beside each other do not replace each other's.
 */
const LAYOUT = 2;

/** Says for an environment which Redis was reconciled with MongoDB, and by which reconciliation. */
export function reconciledKey(prefix: string, environment: string): string {
  return `${prefix}:reconciliation:${LAYOUT}:${environment}`;
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
