/** Kafka Connect and the MongoDB connector, kept in the cache like the programs of the local stack. */
import { fetchJars } from '#local/stack/fetch/jars.ts';
import { ensurePackage } from '#local/stack/fetch/package.ts';
import { findJava } from '#local/stack/kafka/java.ts';
import type { StartContext } from '#local/stack/part.ts';
import type { FoundProgram } from '#local/stack/program/find.ts';

export interface ConnectorPrograms {
  java: FoundProgram;
  /** Folders of jars. */
  worker: string;
  plugin: string;
}

/** Finds them, or fetches them with Maven. */
export async function locateConnector(context: StartContext): Promise<ConnectorPrograms> {
  const java = await findJava(context);
  const jars = (name: 'worker' | 'plugin', title: string, downloadBytes: number) =>
    ensurePackage(
      {
        title,
        name: `connect-${name}`,
        checksums: fileBeside(`${name}.sha256`),
        downloadBytes,
        fetch: (target, staging, within) =>
          fetchJars(fileBeside(`${name}.xml`), java.file, target, staging, within),
      },
      context,
    );
  return {
    java,
    worker: await jars('worker', 'Kafka Connect 4.3.1', 57_000_000),
    plugin: await jars('plugin', 'MongoDB Kafka Connector 2.0.1', 8_400_000),
  };
}

function fileBeside(name: string): string {
  return new URL(name, import.meta.url).pathname;
}
