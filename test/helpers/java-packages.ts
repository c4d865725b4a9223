/** Keeps the jars of Java programs for tests in the cache, outside the repository: every one as a list of checksums has it. */
import { join } from 'node:path';
import { ensurePackage, fetchJars } from '#local/stack/fetch.ts';
import { findJava } from '#local/stack/kafka/kafka.ts';
import { makeHome } from '../faults/servers/home.ts';

/** A set of jars: what a `pom.xml` asks for, and what that comes to. */
export interface JavaPackages {
  title: string;
  /** The folder's name in the cache. */
  name: string;
  pom: string;
  checksums: string;
  downloadBytes: number;
}

/** The command that runs Java with the jars, fetched if need be. Rejects with the reason when Java, Maven or a jar is not to be had. */
export async function javaWith({ pom, ...wanted }: JavaPackages): Promise<{ file: string; args: string[] }> {
  const home = await makeHome((line) => process.stderr.write(`${line}\n`));
  try {
    const { context } = home;
    const file = await findJava(context);
    const jars = await ensurePackage(
      { ...wanted, fetch: (target, staging) => fetchJars(pom, file, target, staging, context) },
      context,
    );
    return { file, args: ['-cp', join(jars, '*')] };
  } finally {
    await home.close();
  }
}
