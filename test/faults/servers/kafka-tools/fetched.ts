/**
 * Kafka's commands for operators, such as `kafka-transactions.sh`, which do not come with the
 * broker.
 */
import { join } from 'node:path';
import { ensurePackage, fetchJars, type Package } from '#local/stack/fetch.ts';
import type { StartContext } from '#local/stack/part.ts';

/**
 * Downloads the commands once.
 * @returns a folder with one jar.
 */
export function fetchTools(context: StartContext): Promise<string> {
  const tools: Package = {
    title: "Kafka's commands 4.3.1",
    name: 'kafka-tools-4.3.1',
    checksums: join(import.meta.dirname, 'jars.sha256'),
    downloadBytes: 700_000,
    fetch: (target, staging) =>
      fetchJars(join(import.meta.dirname, 'pom.xml'), target, staging, context),
  };
  return ensurePackage(tools, context);
}
