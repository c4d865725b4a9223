/** Versions of trees: never the same twice, whichever process makes them. */
import { randomUUID } from 'node:crypto';

const process = randomUUID();
let made = 0;

/** A version that no tree ever had. */
export function nextVersion(): string {
  made += 1;
  return `${process}/${made}`;
}
