/** Certificate authorities and certificates for tests. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';

export interface Issued {
  cert: string;
  /** PKCS #8. */
  key: string;
}

export interface Authority extends Issued {
  /** A certificate for this machine (`localhost`, `127.0.0.1`), or for a named client. */
  issue: (name: string) => Promise<Issued>;
}

const DAY_MS = 86_400_000;

export async function makeAuthority(name: string): Promise<Authority> {
  const made = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const ca = { cert: made.cert, key: made.private };
  return {
    ...ca,
    async issue(commonName) {
      const issued = await generate(
        [
          { name: 'commonName', value: commonName },
          { name: 'organizationName', value: commonName },
        ],
        {
          keyType: 'ec',
          algorithm: 'sha256',
          ca,
          notBeforeDate: new Date(Date.now() - DAY_MS),
          extensions: [
            { name: 'basicConstraints', cA: false },
            { name: 'keyUsage', digitalSignature: true },
            { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
            {
              name: 'subjectAltName',
              altNames: [
                { type: 2, value: 'localhost' },
                { type: 7, ip: '127.0.0.1' },
              ],
            },
          ],
        },
      );
      return { cert: issued.cert, key: issued.private };
    },
  };
}

/** Writes texts into files of a folder. @returns the paths by the same names. */
export async function writeFiles<N extends string>(
  folder: string,
  texts: Record<N, string>,
): Promise<Record<N, string>> {
  const paths = Object.entries<string>(texts).map(async ([name, text]) => {
    const path = join(folder, name);
    await writeFile(path, text, { mode: 0o600 });
    return [name, path];
  });
  return Object.fromEntries(await Promise.all(paths)) as Record<N, string>;
}
