// Fetches a set of jars with Maven, as a committed pom.xml lists them.
import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StackError } from '../errors.ts';
import type { StartContext } from '../part.ts';
import { findOnPath } from '../program/find.ts';
import { runTool } from './tool.ts';

/** Where Debian and its relatives keep the system's certificates for Java. */
const SYSTEM_CERTIFICATES = '/etc/ssl/certs/java/cacerts';

/** Puts the jars of the pom's dependencies, and of theirs, into `target`. `java` runs Maven where nothing else does. */
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
    '-Dstyle.color=never',
    `--file=${project}`,
    // A repository of its own, since Maven's shared one does not survive two first downloads at the same time.
    `-Dmaven.repo.local=${join(staging, 'repository')}`,
    `-DoutputDirectory=${target}`,
    'org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies',
  ];
  const env = findOnPath('java', context.env) === undefined ? withJava(java, context.env) : context.env;
  await runTool({ file: maven, args, env, cwd: staging }, staging, context);
}

/** For a machine whose own Java Maven would not find. */
function withJava(java: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const home = { ...env, JAVA_HOME: dirname(dirname(java)) };
  if (!existsSync(SYSTEM_CERTIFICATES)) return home;
  // A Java that was fetched brings its own certificates, and does not know the one of a company's proxy.
  const options = [env['MAVEN_OPTS'], `-Djavax.net.ssl.trustStore=${SYSTEM_CERTIFICATES}`];
  return { ...home, MAVEN_OPTS: options.filter((option) => option !== undefined).join(' ') };
}
