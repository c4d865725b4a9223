/** The release before this one, as the history of the repository has it. */
import { execFileSync } from 'node:child_process';

/** Its last commit. */
export const RELEASE_BEFORE = 'c04d304';

/** Why it is not to be had; undefined where it is. */
export function whyNoReleaseBefore(): string | undefined {
  try {
    execFileSync('git', ['cat-file', '-e', `${RELEASE_BEFORE}^{commit}`], { stdio: 'ignore' });
    return undefined;
  } catch {
    const reason = `this clone has no history as far as ${RELEASE_BEFORE}`;
    process.stderr.write(`not tested, the release before beside this one: ${reason}\n`);
    return reason;
  }
}

/** Puts it into `folder`, with the packages of its own lockfile: this release may have dropped some of them. */
export function extractReleaseBefore(folder: string): void {
  const files = 'services shared package.json package-lock.json tsconfig.json docs';
  execFileSync('sh', ['-c', `git archive ${RELEASE_BEFORE} ${files} | tar -x -C "$1"`, 'sh', folder]);
  const options = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  execFileSync('npm', options, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}
