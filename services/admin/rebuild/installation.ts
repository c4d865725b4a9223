/** What work on generations needs of an installation: its servers, its names and the release that works. */
import type { Admin } from 'kafkajs';
import type { MongoClient } from 'mongodb';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import type { Servers } from '../connection/servers.ts';

export interface InstallationServers {
  mongodb: MongoClient;
  kafka: Admin;
  prefix: string;
  /** The release's, unless a test plays another release. */
  projectionVersion: number;
}

/** Connects to what is needed. */
export async function installationOf(servers: Servers): Promise<InstallationServers> {
  return {
    mongodb: await servers.mongodb(),
    kafka: await servers.kafkaAdmin(),
    prefix: servers.config.namePrefix,
    projectionVersion: PROJECTION_VERSION,
  };
}
