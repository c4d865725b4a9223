/** What the tests of a file or a group need, made before them and removed after them: its members are there once the tests run. */
import { afterAll, beforeAll } from 'vitest';
import { createInstallation, type Installation, type InstallationOptions } from './installation.ts';
import { type QueryService, startQueryService } from './query-service.ts';

export function useInstallation(options: InstallationOptions = {}): Installation {
  return use(() => createInstallation(options));
}

export function useQueryService(options?: Parameters<typeof startQueryService>[0]): QueryService {
  return use(() => startQueryService(options));
}

function use<T extends { close: () => Promise<void> }>(make: () => Promise<T>): T {
  const made = {} as T;
  beforeAll(async () => void Object.assign(made, await make()));
  // Not there where it could not be made.
  afterAll(() => (made as Partial<T>).close?.());
  return made;
}
