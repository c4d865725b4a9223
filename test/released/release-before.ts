/** The previous release, from the history of the repository. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '#local/stack/fetch.ts';
import { type ServiceProcess, startService } from '#test/service-process.ts';
import { runProcess } from '../services/admin/run-command.ts';

/** The last commit of the release: the first one with this projection version. */
export const RELEASE_BEFORE = '0201d024';

/** The reason why it is unavailable; undefined if it is available. */
export function whyNoReleaseBefore(): string | undefined {
  try {
    execFileSync('git', ['cat-file', '-e', `${RELEASE_BEFORE}^{commit}`], { stdio: 'ignore' });
    return undefined;
  } catch {
    const reason = `this clone's history does not reach ${RELEASE_BEFORE}`;
    process.stderr.write(`skipped, the previous release together with this one: ${reason}\n`);
    return reason;
  }
}

/** Its folder in the cache, with the packages of its own lockfile, since this release may have dropped some. */
function releaseBefore(): string {
  const cache = cacheFolder(process.env);
  const folder = join(cache, `release-${RELEASE_BEFORE}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const staging = mkdtempSync(join(cache, '.extracting-'));
  try {
    extractInto(staging);
    renameSync(staging, folder);
  } catch (error) {
    // Another process may have made the folder meanwhile.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return folder;
}

function extractInto(folder: string): void {
  const files = 'services shared package.json package-lock.json tsconfig.json docs';
  execFileSync('sh', ['-c', `git archive ${RELEASE_BEFORE} ${files} | tar -x -C "$1"`, 'sh', folder]);
  const options = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  execFileSync('npm', options, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The folders of the previous release and of this one. */
export const RELEASES = { before: releaseBefore, this: () => process.cwd() };

/** Runs a command of a release. @returns its output. @throws with its error output if it fails. */
export async function done(folder: string, env: Record<string, string>, words: string): Promise<string> {
  const program = join(folder, 'services/admin/main.ts');
  const { code, stdout, stderr } = await runProcess(env, words, { program });
  if (code !== 0) throw new Error(`${words}: ${stderr}`);
  return stdout;
}

/** A listening service of a release. */
export interface Running {
  process: ServiceProcess;
  url: string;
  operations: string;
}

/** Starts a service from a release's folder, and waits until it listens. @param started gets the process immediately. */
export async function startRelease(
  folder: string,
  name: 'projector' | 'query',
  env: Record<string, string>,
  started: ServiceProcess[],
): Promise<Running> {
  const process = startService(name, env, 'info', join(folder, `services/${name}/main.ts`));
  started.push(process);
  const { url, operations } = await process.logged((line) => typeof line['operations'] === 'string');
  return { process, url: String(url), operations: String(operations) };
}
