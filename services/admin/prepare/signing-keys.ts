/** The file of keys that sign tokens, made where there is none. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { newSigningKey, printKeySet } from '#shared/access/signing-key-set.ts';
import { StoreDataError } from '#shared/errors.ts';

/** Makes the file with one new key, for its owner alone, unless it is there. @returns whether it was made now. */
export async function createSigningKeys(file: string): Promise<boolean> {
  const text = printKeySet([await newSigningKey()]);
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw new StoreDataError('command_invalid', `the file of signing keys cannot be written: ${file}`, {
      cause: error,
    });
  }
}
