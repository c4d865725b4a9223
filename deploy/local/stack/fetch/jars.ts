// Fetches a set of jars with Maven, as a committed pom.xml lists them.
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StackError } from '../errors.ts';
import type { StartContext } from '../part.ts';
import { findOnPath } from '../program/find.ts';
import { runTool } from './tool.ts';

/** Puts the jars of the pom's dependencies, and of theirs, into `target`. `java` runs Maven. */
export async function fetchJars(
  pom: string,
  java: string,
  target: string,
  staging: string,
  context: StartContext,
): Promise<void> {
  const maven = findOnPath('mvn', context.env);
  if (maven === undefined) {
    throw new StackError('Maven is needed for it: install maven (the command mvn)');
  }
  const project = join(staging, 'pom.xml');
  await copyFile(pom, project);
  const args = [
    '--batch-mode',
    '--quiet',
    '--strict-checksums',
    `--file=${project}`,
    // A repository of its own, since Maven's shared one does not survive two first downloads at the same time.
    `-Dmaven.repo.local=${join(staging, 'repository')}`,
    `-DoutputDirectory=${target}`,
    'dependency:copy-dependencies',
  ];
  const env = { ...context.env, JAVA_HOME: dirname(dirname(java)) };
  await runTool({ file: maven, args, env, cwd: staging }, staging, context);
}
