/** The key that signs tokens: kept with the data, so that tokens outlive a restart exactly when the data does. */
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newSigningKey } from '#shared/access/signing-key-set.ts';

/** Where it lies. */
export function signingKeyPath(folder: string): string {
  return join(folder, 'signing-keys.json');
}

/** Makes a key, unless one is to be kept and is there. */
export async function prepareSigningKey(folder: string, keepData: boolean): Promise<string> {
  const path = signingKeyPath(folder);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (keepData && isThere) return path;
  await rm(path, { force: true });
  await writeFile(path, JSON.stringify({ keys: [await newSigningKey()] }), { mode: 0o600 });
  return path;
}
