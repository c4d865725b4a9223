/**
 * Fixtures for the tests of a file or group, made before and closed after them. Their members exist
 * once the tests run.
 */
import { afterAll, beforeAll } from 'vitest';
import type { RunningProjector } from '#projector/projector.ts';
import { createInstallation, type Installation, type InstallationOptions } from './installation.ts';
import { restartableProjector, startSilentProjector } from './projectors.ts';
import { type QueryService, startQueryService } from './query-service.ts';

export function useInstallation(options: InstallationOptions = {}): Installation {
  return useMade(() => createInstallation(options));
}

export function useQueryService(options?: Parameters<typeof startQueryService>[0]): QueryService {
  return useMade(() => startQueryService(options));
}

/** Runs a projector without logs. */
export function useProjector(installation: Installation): RunningProjector {
  return useMade(async () => {
    const projector = await startSilentProjector(installation);
    return { ...projector, close: projector.stop };
  });
}

/** A projector without logs that tests start and stop. */
export function useRestartableProjector(installation: Installation) {
  const projector = restartableProjector(installation);
  afterAll(projector.stop);
  return projector;
}

/** Makes any fixture with `close`, such as a server. */
export function useMade<T extends { close: () => Promise<void> }>(make: () => Promise<T>): T {
  const made = {} as T;
  beforeAll(async () => void Object.assign(made, await make()));
  // Absent if `make` failed.
  afterAll(() => (made as Partial<T>).close?.());
  return made;
}
