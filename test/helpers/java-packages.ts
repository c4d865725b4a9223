/** Caches the jars of Java test programs outside the repository, verified by checksums. */
import { join } from 'node:path';
import { ensurePackage, fetchJars } from '#local/stack/fetch.ts';
import { findJava } from '#local/stack/kafka/kafka.ts';
import { makeHome } from '../faults/servers/home.ts';

/** A set of jars: a `pom.xml`, and the checksums of all resolved jars. */
export interface JavaPackages {
  title: string;
  /** The cache folder's name. */
  name: string;
  pom: string;
  checksums: string;
  downloadBytes: number;
}

/** For programs that run for seconds: half the processor time of the usual compilers. */
export const QUICK = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'] as const;

/**
 * Downloads the jars if missing.
 * @returns the Java command with them. Rejects with the reason if Java, Maven or a jar is
 * unavailable.
 */
export async function javaWith({
  pom,
  ...wanted
}: JavaPackages): Promise<{ file: string; args: string[] }> {
  const home = await makeHome((line) => process.stderr.write(`${line}\n`));
  try {
    const { context } = home;
    const file = await findJava(context);
    const jars = await ensurePackage(
      { ...wanted, fetch: (target, staging) => fetchJars(pom, target, staging, context) },
      context,
    );
    return { file, args: [...QUICK, '-cp', join(jars, '*')] };
  } finally {
    await home.close();
  }
}
