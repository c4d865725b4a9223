/**
 * `signing-keys`: rotates the keys that sign tokens, without a refused token or a restart. Services
 * never read half a file.
 */
import {
  createSigningKeys,
  newSigningKey,
  OWNER_ONLY,
  parseKeySet,
  printKeySet,
  signingIndex,
  type SigningJwk,
} from '#shared/access/signing-key-set.ts';
import { commandInvalid, hasCode, notFound, StoreDataError } from '#shared/errors.ts';
import { audited } from '../audit.ts';
import { Option } from '@commander-js/extra-typings';
import { command, duration, WrongUsage } from '../options.ts';
import { printResult, tableOf } from '../output.ts';
import { openServers, readConnection, STACK_FILE } from '../servers.ts';
import { type FileHandle, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Services read the file every second, a slow one a little later. */
const MIN_ACTIVATION_MS = 3_000;
const ACTIVATION_MS = 300_000;

export const createCommand = () =>
  command('create', 'Make a file with a first key, unless it exists; no server is needed')
    .argument('<file>', 'where, such as signing-keys.json')
    .action(async (file) => {
      const made = await createSigningKeys(file);
      printResult(
        { file, made },
        `${made ? 'signing key made' : 'signing keys were there'}: ${file}`,
      );
    });

export const listCommand = () =>
  command('list', 'Show the state of each key, and until when its tokens are valid').action(
    async () => {
      const { file, lifetimeMs } = await keyFile();
      show(await readKeys(file), lifetimeMs);
    },
  );

export const rotateCommand = () =>
  command('rotate', 'Add a key that signs as soon as every service knows it')
    .addOption(
      new Option('--activate-after <time>', 'when it begins to sign')
        .argParser(duration)
        .default(ACTIVATION_MS, '5min'),
    )
    .action(async ({ activateAfter }) => {
      if (activateAfter < MIN_ACTIVATION_MS) {
        throw new WrongUsage(
          `--activate-after must be at least ${MIN_ACTIVATION_MS / 1_000} s, until every service knows the key`,
        );
      }
      const { file, lifetimeMs } = await keyFile();
      await using servers = await openServers();
      const details = { activate_after_seconds: activateAfter / 1_000 };
      const keys = await audited(
        servers,
        { action: 'signing-keys.rotate', details },
        () => changeKeys(file, (before) => withNewKey(before, lifetimeMs, activateAfter)),
        ([made]) => ({
          ...(made && { kid: made.kid }),
          details: { signs_from: inWords(new Date((made?.nbf ?? 0) * 1_000)) },
        }),
      );
      show(keys, lifetimeMs);
    });

export const retireCommand = () =>
  command('retire', 'Remove a key whose tokens have all expired')
    .argument('<kid>', 'the key, as "list" shows it')
    .option('--force', 'also while its tokens may be valid: they answer 401 from then on')
    .action(async (kid, flags) => {
      const { file, lifetimeMs } = await keyFile();
      const force = flags.force === true;
      await using servers = await openServers();
      const keys = await audited(
        servers,
        { action: 'signing-keys.retire', kid, details: { force } },
        () => changeKeys(file, async (before) => without(before, kid, lifetimeMs, force)),
        () => ({ details: {} }),
      );
      show(keys, lifetimeMs);
    });

async function withNewKey(
  before: SigningJwk[],
  lifetimeMs: number,
  activateAfterMs: number,
): Promise<SigningJwk[]> {
  const waiting = scheduleOf(before, Date.now(), lifetimeMs).find(({ state }) => state === 'waits');
  if (waiting !== undefined) {
    throw commandInvalid(
      `key ${waiting.kid} already waits, and signs from ${inWords(waiting.signs_from)} on`,
    );
  }
  const key = await newSigningKey();
  return [{ ...key, nbf: Math.ceil((Date.now() + activateAfterMs) / 1_000) }, ...before];
}

function without(
  before: SigningJwk[],
  kid: string,
  lifetimeMs: number,
  force: boolean,
): SigningJwk[] {
  const now = Date.now();
  const found = scheduleOf(before, now, lifetimeMs).find((key) => key.kid === kid);
  if (found === undefined) throw notFound(`there is no signing key ${kid}`);
  if (before.length === 1) {
    throw commandInvalid(`${kid} is the only key: "signing-keys rotate" first`);
  }
  if (!force) refuseWhileInUse(found, now);
  return before.filter((key) => key.kid !== kid);
}

/** @throws {StoreDataError} `command_invalid` while a token of the key may live. */
function refuseWhileInUse({ kid, state, tokens_until: until }: KeySchedule, now: number): void {
  const refuse = (why: string) =>
    commandInvalid(`${why}; --force removes it, and its tokens answer 401`);
  if (state === 'signs') throw refuse(`${kid} signs now`);
  if (until === null)
    throw refuse(`it is unknown when ${kid} stopped signing, so its tokens may be valid`);
  if (now < Number(until)) throw refuse(`tokens of ${kid} may be valid until ${inWords(until)}`);
}

/** @throws {StoreDataError} `command_invalid` if the keys are in no file. */
async function keyFile() {
  const { config, origin } = await readConnection(process.env);
  const { signingKeys, signingKeysFile, lifetimeSeconds } = config.tokens;
  // A local stack gives its services the keys beside its file, and ignores the variables of the
  // shell.
  const ofStack = origin.endsWith(STACK_FILE) ? join(dirname(origin), 'signing-keys.json') : null;
  if (signingKeys !== null && ofStack === null) {
    throw commandInvalid(
      'the keys are in SIGNING_KEYS, which no command can change for running services: move them to a file and set ' +
        'SIGNING_KEYS_FILE, or change the variable (docs/deploying.md has the steps)',
    );
  }
  const file = ofStack ?? signingKeysFile;
  if (file === null) throw commandInvalid('SIGNING_KEYS_FILE is not set');
  return { file, lifetimeMs: lifetimeSeconds * 1_000 };
}

function show(keys: readonly SigningJwk[], lifetimeMs: number): void {
  const schedule = scheduleOf(keys, Date.now(), lifetimeMs);
  printResult(schedule, tableOf(schedule, ['kid', ['STATE', stateInWords]]));
}

function stateInWords({ state, signs_from: from, tokens_until: until }: KeySchedule): string {
  if (state === 'waits') return `signs from ${inWords(from)} on`;
  if (state === 'signs') return 'signs';
  if (until === null) return 'verifies';
  return Number(until) > Date.now()
    ? `verifies, its tokens are valid until ${inWords(until)}`
    : 'can be retired';
}

function inWords(time: Date | null): string {
  return time?.toISOString() ?? 'an unknown time';
}

async function readKeys(file: string): Promise<SigningJwk[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StoreDataError('not_found', `${file} cannot be read; "store-data prepare" makes it`, {
      cause,
    });
  });
  return parseKeySet(text, file);
}

/**
 * Replaces the keys of a file: writes a draft, whose name is the lock against other commands, and renames it. The file keeps its owner,
 * group and mode, by which the services can read it.
 * @param change makes the new keys; if it throws, the file stays as it was.
 * @throws {StoreDataError} `command_invalid` while another command changes the file, or if the folder cannot be written.
 */
async function changeKeys(
  file: string,
  change: (keys: SigningJwk[]) => Promise<SigningJwk[]>,
): Promise<SigningJwk[]> {
  // A link stays a link.
  const target = await realpath(file).catch(() => file);
  const draft = join(dirname(target), `.${basename(target)}.new`);
  await readKeys(target);
  await using handle = await open(draft, 'wx', OWNER_ONLY).catch((error: unknown) => {
    throw commandInvalid(
      hasCode(error, 'EEXIST')
        ? `another command is changing the signing keys; if none is, one was killed: remove ${draft}`
        : 'the folder of the signing keys cannot be written, like that of a mounted secret: change their source (docs/deploying.md)',
      error,
    );
  });
  try {
    const keys = await change(await readKeys(target));
    await handle.writeFile(printKeySet(keys));
    await keepPermissions(target, handle);
    await handle.sync();
    await rename(draft, target);
    return keys;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/**
 * The mode comes last: a change of the owner may clear bits of it, and the previous group must not
 * read the keys.
 */
async function keepPermissions(target: string, draft: FileHandle): Promise<void> {
  const [old, made] = await Promise.all([stat(target), draft.stat()]);
  if (old.uid !== made.uid || old.gid !== made.gid) {
    await draft.chown(old.uid, old.gid).catch((error: unknown) => {
      throw commandInvalid(
        `${target} belongs to user ${old.uid} and group ${old.gid}, which stay only if that user, as a member of that group, or root runs this command`,
        error,
      );
    });
  }
  await draft.chmod(old.mode & 0o777);
}

/** The largest difference between the services' clocks. */
export const CLOCK_MARGIN_MS = 2_000;

interface KeySchedule {
  kid: string;
  /**
   * `waits`: it will sign. `signs`: it signs now. `verifies`: it has signed, or an earlier one in
   * the set signs.
   */
  state: 'waits' | 'signs' | 'verifies';
  /** When it begins, or began, to sign; `null` if that is unknown. */
  signs_from: Date | null;
  /** Until when its tokens may be valid; `null` if that is unknown. */
  tokens_until: Date | null;
}

/** The schedule of a set's keys, in their order. @param lifetime of a token. */
export function scheduleOf(
  keys: readonly SigningJwk[],
  now: number,
  lifetime: number,
): KeySchedule[] {
  const signing = signingIndex(keys, now);
  return keys.map(({ kid, nbf }, index) => {
    const signs_from = nbf === undefined ? null : new Date(nbf * 1_000);
    if (index === signing) return { kid, state: 'signs', signs_from, tokens_until: null };
    if (index < signing) {
      // A service whose clock is ahead may sign with it already.
      const mayHaveSigned = Number(signs_from) - CLOCK_MARGIN_MS <= now;
      return {
        kid,
        state: 'waits',
        signs_from,
        tokens_until: mayHaveSigned ? null : new Date(now),
      };
    }
    // It signed until the first of the keys before it began; that is unknown where one of them has
    // no time.
    const end =
      Math.min(...keys.slice(0, index).map(({ nbf: begins = Number.NaN }) => begins)) * 1_000;
    const tokens_until = Number.isNaN(end) ? null : new Date(end + lifetime + CLOCK_MARGIN_MS);
    return { kid, state: 'verifies', signs_from, tokens_until };
  });
}
