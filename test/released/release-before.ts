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
