// The data folder of a stack: a subfolder with each part's data, `logs/` with each part's output, and its owner.
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { PartName } from '../part.ts';

const PARTS: readonly PartName[] = ['kafka', 'mongodb', 'redis'];

/** Where things lie in the data folder of a stack. */
export interface DataFolder {
  path: string;
  part(name: PartName): string;
  logFile(name: PartName): string;
  /** Removes the parts' data; the logs stay. */
  removeData(): void;
}

/** Makes the folder and tells where things lie in it. */
export function openDataFolder(folder: string): DataFolder {
  const path = resolve(folder);
  mkdirSync(join(path, 'logs'), { recursive: true });
  const part = (name: PartName) => join(path, name);
  return {
    path,
    part,
    logFile: (name) => join(path, 'logs', `${name}.log`),
    removeData() {
      for (const name of PARTS) rmSync(part(name), { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
