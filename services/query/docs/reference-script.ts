/** The script that shows the reference: Scalar's, taken out of its package. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { gzippedContent, type StaticContent } from '../answers/static-content.ts';

/** What the worker sends. */
export interface PackedScript {
  gzipped: Uint8Array;
  sha256: string;
}

export interface ReferenceScript {
  content: StaticContent;
  /** Names its content: another script has another. */
  version: string;
}

/**
 * Makes it, in a thread that ends: the package keeps the script as one string of several megabytes, and whoever imports it
 * keeps that for ever.
 */
export async function makeReferenceScript(): Promise<ReferenceScript> {
  const worker = new Worker(new URL('reference-script-worker.ts', import.meta.url));
  const [{ gzipped, sha256 }] = (await once(worker, 'message')) as [PackedScript];
  return {
    content: gzippedContent('text/javascript; charset=utf-8', Buffer.from(gzipped.buffer), sha256),
    version: sha256.slice(0, 16),
  };
}
