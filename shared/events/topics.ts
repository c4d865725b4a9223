/** Names of the topics: two for each environment, so that a flood of changes never delays a revocation. */

/** The topic of an environment's entity changes, keyed by store id. */
export function changesTopic(environment: string): string {
  return `store-changes.${environment}`;
}

/** The topic of an environment's access keys and store access, keyed by store id. */
export function accessTopic(environment: string): string {
  return `store-access.${environment}`;
}
