/** Names of the topics: two for each environment, so that a flood of changes never delays a revocation. */

export function changesTopic(environment: string): string {
  return `store-changes.${environment}`;
}

export function accessTopic(environment: string): string {
  return `store-access.${environment}`;
}
