/** The servers that work on generations needs. */
import { changesTopic } from '#shared/events/topics.ts';
import type { Admin } from '#shared/kafka/client.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import type { Servers } from '../connection/servers.ts';

export interface InstallationServers {
  databases: Databases;
  /** Of the Kafka that has the environment's changes. */
  kafka: Admin;
  prefix: string;
  /** The release's, unless a test plays another release. */
  projectionVersion: number;
}

/** Connects to what is needed for an environment. */
export async function installationOf(servers: Servers, environment: string): Promise<InstallationServers> {
  return {
    databases: await servers.databases(environment),
    kafka: await servers.kafkaOf(changesTopic(environment)).admin(),
    prefix: servers.config.namePrefix,
    projectionVersion: PROJECTION_VERSION,
  };
}
