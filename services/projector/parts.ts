/** What all parts of a projector share. */
import type { Db } from 'mongodb';
import type { Config } from '#shared/config.ts';
import type { Kafka } from '#shared/kafka/client.ts';
import type { Logger } from '#shared/logging.ts';
import type { TreeCache } from '#shared/projection/rank-tree/loaded-tree.ts';
import type { Databases } from '#shared/read-models/generation.ts';
import type { RedisMasters } from '#shared/redis-masters.ts';
import type { Tracing } from '#shared/tracing.ts';
import type { Scheduler } from './log/scheduler.ts';
import type { ProjectorMetrics } from './metrics.ts';

export interface Parts {
  config: Config;
  projectionVersion: number;
  logger: Logger;
  metrics: ProjectorMetrics;
  tracing: Tracing | null;
  databases: Databases;
  redis: RedisMasters;
  kafka: Kafka;
  control: Db;
  scheduler: Scheduler;
  /** Of all generations. */
  trees: TreeCache;
  /** Called when a consumer cannot continue: the process should end. */
  fail: (error: unknown) => void;
}
