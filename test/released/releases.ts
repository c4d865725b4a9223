/** Commands and services of a release, from its folder. */
import { join } from 'node:path';
import { type ServiceProcess, startService } from '#test/service-process.ts';
import { runProcess } from '../services/admin/run-command.ts';

/** Runs a command of a release. @returns its output. @throws with its error output if it fails. */
export async function done(
  folder: string,
  env: Record<string, string>,
  words: string,
): Promise<string> {
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

/**
 * Starts a service from a release's folder, and waits until it listens.
 * @param started gets the process immediately.
 */
export async function startRelease(
  folder: string,
  name: 'projector' | 'query',
  env: Record<string, string>,
  started: ServiceProcess[],
): Promise<Running> {
  const process = startService(name, env, 'info', join(folder, `services/${name}/main.ts`));
  started.push(process);
  const { url, operations } = await process.logged(
    (line) => typeof line['operations'] === 'string',
  );
  return { process, url: String(url), operations: String(operations) };
}
