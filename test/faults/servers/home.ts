/**
 * A folder and a guardian process for the servers of one test; both are removed however the test
 * ends.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataFolderAt, type StartContext } from '#local/stack/part.ts';
import { startGuard } from '#local/stack/process.ts';

export interface Home {
  path: string;
  /** The context for starting parts of the local stack. */
  context: StartContext;
  /** Makes a folder for one server. */
  room: (name: string) => Promise<{ data: string; logFile: string }>;
  close: () => Promise<void>;
}

export async function makeHome(log: StartContext['log'] = () => undefined): Promise<Home> {
  const path = await mkdtemp(join(tmpdir(), 'store-data-faults-'));
  const guard = startGuard();
  await guard.hold('path', path);
  const context = {
    env: process.env,
    log,
    guard,
    folder: dataFolderAt(path),
    keepData: false,
  };
  return {
    path,
    context,
    async room(name) {
      const data = join(path, name);
      await mkdir(data, { recursive: true });
      return { data, logFile: join(path, `${name}.log`) };
    },
    async close() {
      await guard.close();
      await rm(path, { recursive: true, force: true });
    },
  };
}
