/** Keeps schemathesis in the cache, outside the repository. */
import { join } from 'node:path';
import { installPythonPackages } from '#test/python-packages.ts';

/** The folder with the packages, for `PYTHONPATH`; fetched if need be. */
export async function installSchemathesis(cache: string, log: (line: string) => void): Promise<string> {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  return installPythonPackages({ name: 'schemathesis', requirements }, cache, log);
}
