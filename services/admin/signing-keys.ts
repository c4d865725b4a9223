/** The file of signing keys: read as it is, replaced as a whole, so that no service ever reads half of it. */
import { chown, open, readFile, realpath, rename, rm, stat, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  parseKeySet,
  printKeySet,
  signingIndex,
  type SigningJwk,
  newSigningKey,
} from '#shared/access/signing-key-set.ts';
import { StoreDataError } from '#shared/errors.ts';

const OWNER_ONLY = 0o600;

/** The keys of a file. @throws {StoreDataError} `not_found`, or `config_invalid` where it is no set of keys. */
export async function readKeys(file: string): Promise<SigningJwk[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new StoreDataError('not_found', `${file} cannot be read; "store-data prepare" makes it`, {
      cause: error,
    });
  }
  return parseKeySet(text, file);
}

/**
 * Replaces the keys of a file. The new content is written beside it, under a name that only one command at a time
 * can have, and renamed over it; the owner stays, and nobody else can read it.
 * @param change makes the new keys; what it throws leaves the file as it was.
 * @throws {StoreDataError} `command_invalid` when another command is at it or the folder cannot be written.
 */
export async function changeKeys(
  file: string,
  change: (keys: SigningJwk[]) => Promise<SigningJwk[]>,
): Promise<SigningJwk[]> {
  // A link stays a link.
  const target = await realpath(file).catch(() => file);
  const draft = join(dirname(target), `.${basename(target)}.new`);
  await readKeys(target);
  const handle = await open(draft, 'wx', OWNER_ONLY).catch((error: unknown) => {
    throw unwritable(draft, error);
  });
  try {
    const keys = await change(await readKeys(target));
    await handle.chmod(OWNER_ONLY);
    await handle.writeFile(printKeySet(keys));
    await handle.sync();
    await handle.close();
    await keepOwner(target, draft);
    await rename(draft, target);
    return keys;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(draft, { force: true });
    throw error;
  }
}

/** A file that its services cannot read any longer would be a rotation that they never hear of. */
async function keepOwner(target: string, draft: string): Promise<void> {
  const [old, made] = await Promise.all([stat(target), stat(draft)]);
  if (old.uid === made.uid && old.gid === made.gid) return;
  try {
    await chown(draft, old.uid, old.gid);
  } catch (error) {
    throw new StoreDataError(
      'command_invalid',
      `${target} belongs to user ${old.uid}: run this command as that user`,
      { cause: error },
    );
  }
}

function unwritable(draft: string, error: unknown): StoreDataError {
  const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
  return new StoreDataError(
    'command_invalid',
    exists
      ? `another command is changing the signing keys; if none is, one was killed: remove ${draft}`
      : `the folder of the signing keys cannot be written, as that of a mounted secret: change the keys where they come from (docs/deploying.md)`,
    { cause: error },
  );
}

/** How far the clocks of the services may be apart. */
export const CLOCK_MARGIN_MS = 2_000;

export interface KeySchedule {
  kid: string;
  /** `waits`: it will sign. `signs`: it does now. `verifies`: it did, or another stands before it. */
  state: 'waits' | 'signs' | 'verifies';
  /** When it begins, or began, to sign; `null` where the set does not say. */
  signsFrom: number | null;
  /** Until when a token that it signed may be valid; `null` where the set does not say. */
  tokensUntil: number | null;
}

/** The schedule of a set's keys, in the set's order. @param lifetime of a token. */
export function scheduleOf(keys: readonly SigningJwk[], now: number, lifetime: number): KeySchedule[] {
  const signing = signingIndex(keys, now);
  return keys.map(({ kid, nbf }, index) => {
    const signsFrom = nbf === undefined ? null : nbf * 1_000;
    if (index === signing) return { kid, state: 'signs', signsFrom, tokensUntil: null };
    if (index < signing) {
      // A service whose clock is ahead signs with it earlier.
      const mayHaveSigned = (signsFrom ?? 0) - CLOCK_MARGIN_MS <= now;
      return { kid, state: 'waits', signsFrom, tokensUntil: mayHaveSigned ? null : now };
    }
    const ends = keys.slice(0, index).map(({ nbf: begins }) => begins);
    const known = ends.filter((begins) => begins !== undefined);
    const stopped = known.length < ends.length ? null : Math.min(...known) * 1_000;
    return {
      kid,
      state: 'verifies',
      signsFrom,
      tokensUntil: stopped === null ? null : stopped + lifetime + CLOCK_MARGIN_MS,
    };
  });
}

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
