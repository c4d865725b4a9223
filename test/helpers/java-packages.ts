/** Keeps the jars of Java programs for tests in the cache, outside the repository: every one as a list of checksums has it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackage, fetchJars } from '#local/stack/fetch.ts';
import { dataFolderAt } from '#local/stack/part.ts';
import { findJava } from '#local/stack/kafka/kafka.ts';
import { startGuard } from '#local/stack/process.ts';

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
  const guard = startGuard();
  const folder = await mkdtemp(join(tmpdir(), 'store-data-java-'));
  const log = (line: string) => process.stderr.write(`${line}\n`);
  const data = dataFolderAt(join(folder, 'data'));
  const context = { env: process.env, log, guard, folder: data, keepData: false };
  try {
    const file = await findJava(context);
    const jars = await ensurePackage(
      { ...wanted, fetch: (target, staging) => fetchJars(pom, file, target, staging, context) },
      context,
    );
    return { file, args: ['-cp', join(jars, '*')] };
  } finally {
    await guard.close();
    await rm(folder, { recursive: true, force: true });
  }
}
