/**
 * Files that settings name: certificates, keys and passwords. They are read when a client is made.
 */
import { readFileSync } from 'node:fs';
import { StoreDataError } from '../errors.ts';

export interface TlsFiles {
  caFile?: string | null;
  certFile: string | null;
  keyFile: string | null;
}

export function readTlsFiles({ caFile = null, certFile, keyFile }: TlsFiles) {
  return {
    ...(caFile !== null && { ca: readSettingFile(caFile) }),
    ...(certFile !== null && { cert: readSettingFile(certFile) }),
    ...(keyFile !== null && { key: readSettingFile(keyFile) }),
  };
}

export function readPassword(settings: {
  password: string | null;
  passwordFile: string | null;
}): string | null {
  if (settings.passwordFile === null) return settings.password;
  return readSettingFile(settings.passwordFile).replace(/\r?\n$/, '');
}

function readSettingFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new StoreDataError(
      'config_invalid',
      `${path}, which a setting names, cannot be read: ${reason}`,
      {
        cause: error,
      },
    );
  }
}
