/** What the tests of a file or a group need, made before them and removed after them: its members are there once the tests run. */
import { afterAll, beforeAll } from 'vitest';
import type { RunningProjector } from '#projector/projector.ts';
import { createInstallation, type Installation, type InstallationOptions } from './installation.ts';
import { startSilentProjector } from './projectors.ts';
import { type QueryService, startQueryService } from './query-service.ts';

export function useInstallation(options: InstallationOptions = {}): Installation {
  return useMade(() => createInstallation(options));
}

export function useQueryService(options?: Parameters<typeof startQueryService>[0]): QueryService {
  return useMade(() => startQueryService(options));
}

/** A projector that logs nothing. */
export function useProjector(installation: Installation): RunningProjector {
  return useMade(async () => {
    const projector = await startSilentProjector(installation);
    return { ...projector, close: projector.stop };
  });
}

/** Anything else that is closed, such as servers of the tests' own. */
export function useMade<T extends { close: () => Promise<void> }>(make: () => Promise<T>): T {
  const made = {} as T;
  beforeAll(async () => void Object.assign(made, await make()));
  // Not there where it could not be made.
  afterAll(() => (made as Partial<T>).close?.());
  return made;
}
