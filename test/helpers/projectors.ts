/** Projectors in the process of the test. */
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import type { Installation } from './installation.ts';
import { caughtUp } from './read-models.ts';

/** Starts a projector without logs, optionally with other settings and for one environment. */
export function startSilentProjector(
  { config, env }: Installation,
  environment?: string,
  settings: Record<string, string> = {},
): Promise<RunningProjector> {
  const own =
    environment === undefined
      ? config
      : readConfig({ ...env, ENVIRONMENTS: environment, ...settings });
  return startProjector(own, createLogger('test', 'silent'));
}

/** A projector without logs that tests start and stop. */
export function restartableProjector(installation: Installation) {
  let projector: RunningProjector | null = null;
  return {
    start: async () => void (projector ??= await startSilentProjector(installation)),
    async stop(): Promise<void> {
      await projector?.stop();
      projector = null;
    },
  };
}

/** Runs a projector until all published events of an environment are applied. */
export async function applyAll(installation: Installation, environment?: string): Promise<void> {
  const projector = await startSilentProjector(installation, environment);
  await caughtUp(installation, environment);
  await projector.stop();
}
