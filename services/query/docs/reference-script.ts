/** The script that shows the reference: Scalar's, taken out of its package. */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROGRAM_SUFFIX } from '#shared/source-files.ts';
import { gzippedContent, type StaticContent } from '../responses/static-content.ts';

const PROGRAM = join(import.meta.dirname, `unpack-reference-script${PROGRAM_SUFFIX}`);
const MAX_BYTES = 16 * 1_048_576;

export interface ReferenceScript {
  content: StaticContent;
  /** Names its content: another script has another. */
  version: string;
}

/**
 * Makes it in a process of its own: the package holds the script as one string of several megabytes, which an import would keep for
 * ever.
 */
export async function makeReferenceScript(): Promise<ReferenceScript> {
  const { stdout: gzipped } = await promisify(execFile)(process.execPath, [PROGRAM], {
    env: {},
    encoding: 'buffer',
    maxBuffer: MAX_BYTES,
  });
  const sha256 = hash('sha256', gzipped, 'base64url');
  return {
    content: gzippedContent('text/javascript; charset=utf-8', gzipped, sha256),
    version: sha256.slice(0, 16),
  };
}
