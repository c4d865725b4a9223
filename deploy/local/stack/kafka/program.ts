// The broker as a program: its jars by Maven, its storage formatted once, then `kafka.Kafka`.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StackError } from '../errors.ts';
import { fetchJars } from '../fetch/jars.ts';
import { ensurePackage, type Package } from '../fetch/package.ts';
import type { LocatedProgram, StartContext } from '../part.ts';
import { startGuarded } from '../program/guarded-process.ts';
import type { Command } from '../program/guarded-process.ts';
import { lastLines } from '../program/log-tail.ts';
import { findJava } from './java.ts';
import { JVM_OPTIONS, asProperties, brokerSettings } from './settings.ts';

/** The storage of each broker names it; any id will do for a cluster of ours. */
export const CLUSTER_ID = '4L6g3nShT-eMCtK--X86sw';

/**
 * Finds Java and the broker's jars, or fetches them. Tests build clusters with it: `more` settings take the place of ours, and
 * `formatting` is what the tool that formats the storage is told beside them.
 */
export async function locateBroker(
  context: StartContext,
  more: Record<string, string> = {},
  formatting: readonly string[] = [],
): Promise<LocatedProgram> {
  const java = await findJava(context);
  const jars = await ensurePackage(brokerPackage(java.file), context);
  const run = (...args: string[]): Command => ({
    file: java.file,
    args: [...JVM_OPTIONS, '-cp', join(jars, '*'), ...args],
    env: context.env,
  });
  return {
    description: `Kafka 4.3.1 of the cache with ${java.description}`,
    async prepare(folder, [port = 0, controllerPort = 0], logFile, member) {
      const properties = join(folder, 'server.properties');
      const data = join(folder, 'data');
      const listeners = { bind: '127.0.0.1', advertised: '127.0.0.1', port, controllerPort };
      writeFileSync(properties, asProperties({ ...brokerSettings(listeners, data, member), ...more }));
      await formatOnce(
        folder,
        data,
        run('kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', properties, ...formatting),
      );
      return run('kafka.Kafka', properties);

      async function formatOnce(home: string, storage: string, format: Command): Promise<void> {
        // A mark of our own and not the storage's files, which an interrupted format leaves incomplete.
        const mark = join(home, 'formatted');
        if (existsSync(mark)) return;
        rmSync(storage, { recursive: true, force: true });
        mkdirSync(storage);
        const { exitCode } = await (await startGuarded(context.guard, format, logFile)).exited;
        if (exitCode !== 0) {
          throw new StackError(
            ['kafka: its storage could not be formatted', ...lastLines(logFile)].join('\n    '),
          );
        }
        writeFileSync(mark, '');
        // The tool prints every setting there is: no help in a log that is read for the broker's words.
        writeFileSync(logFile, '');
      }
    },
  };
}

function brokerPackage(java: string): Package {
  return {
    title: 'Kafka 4.3.1',
    name: 'kafka-4.3.1',
    checksums: join(import.meta.dirname, 'jars.sha256'),
    downloadBytes: 54_000_000,
    fetch: (target, staging, context) =>
      fetchJars(join(import.meta.dirname, 'pom.xml'), java, target, staging, context),
  };
}
