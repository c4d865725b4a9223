// The data folder of a stack: a subfolder with each part's data, `logs/` with each part's output, and its owner.
import { rmSync, rmdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

export type PartName = 'kafka' | 'mongodb' | 'redis';

/** Where things lie in the data folder of a stack. */
export interface DataFolder {
  path: string;
  part(name: PartName): string;
  logs: string;
  logFile(name: PartName): string;
  /** Says which stack the folder belongs to. */
  ownerFile: string;
}

/** Tells where things lie in the folder. */
export function dataFolderAt(folder: string): DataFolder {
  const path = resolve(folder);
  const logs = join(path, 'logs');
  return {
    path,
    part: (name) => join(path, name),
    logs,
    logFile: (name) => join(logs, `${name}.log`),
    ownerFile: join(path, 'owner.json'),
  };
}

/** Removes what a stack has put there, and the folder around it if that is empty then. */
export function removeAll(paths: readonly string[], folder: DataFolder): void {
  for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  try {
    rmdirSync(folder.path);
  } catch {
    // Something else lies there: logs of a failure, or somebody's files.
  }
}
