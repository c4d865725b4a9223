/** `signing-keys`: the keys that sign tokens, replaced without a refused token and without a restart. */
import { Command } from '@commander-js/extra-typings';
import { dirname, join } from 'node:path';
import { newSigningKey, type SigningJwk } from '#shared/access/signing-key-set.ts';
import { commandInvalid, notFound } from '#shared/errors.ts';
import { audited } from '../audit.ts';
import { withServers } from '../connection/servers.ts';
import { readConnection, STACK_FILE } from '../connection/settings.ts';
import { duration, jsonOption, WrongUsage } from '../options.ts';
import { type JsonFlag, printResult, tableOf } from '../output/print.ts';
import { createSigningKeys, changeKeys, type KeySchedule, readKeys, scheduleOf } from '../signing-keys.ts';

/** Services read the file every second; one that is slow reads it a little later. */
const MIN_ACTIVATION_MS = 3_000;
const ACTIVATION_MS = 300_000;

export const createCommand = () =>
  new Command('create')
    .description('Make a file with a first key, unless it is there; no server is needed')
    .argument('<file>', 'where, such as signing-keys.json')
    .addOption(jsonOption())
    .action(async (file, flags) => {
      const made = await createSigningKeys(file);
      printResult(flags, { file, made }, `${made ? 'signing key made' : 'signing keys were there'}: ${file}`);
    });

export const listCommand = () =>
  new Command('list')
    .description('Show what each key does, and until when its tokens live')
    .addOption(jsonOption())
    .action(async (flags) => {
      const { file, lifetimeMs } = await keyFile();
      show(await readKeys(file), lifetimeMs, flags);
    });

export const rotateCommand = () =>
  new Command('rotate')
    .description('Add a key that signs as soon as every service knows it')
    .option('--activate-after <time>', 'when it begins to sign', duration, ACTIVATION_MS)
    .addOption(jsonOption())
    .action(async (flags) => {
      const { activateAfter } = flags;
      if (activateAfter < MIN_ACTIVATION_MS) {
        throw new WrongUsage(
          `--activate-after must be at least ${MIN_ACTIVATION_MS / 1_000} s: no service may get a token of a key that it does not know`,
        );
      }
      const { file, lifetimeMs } = await keyFile();
      const keys = await withServers((servers) => {
        const details = { activate_after_seconds: activateAfter / 1_000 };
        return audited(servers, { action: 'signing-keys.rotate', details }, async () => {
          const result = await changeKeys(file, (before) => withNewKey(before, lifetimeMs, activateAfter));
          const [made] = result;
          const subject = made === undefined ? {} : { kid: made.kid };
          return { result, subject, details: { signs_from: inWords((made?.nbf ?? 0) * 1_000) } };
        });
      });
      show(keys, lifetimeMs, flags);
    });

export const retireCommand = () =>
  new Command('retire')
    .description('Remove a key whose tokens have all expired')
    .argument('<kid>', 'the key, as "list" shows it')
    .option('--force', 'also where tokens of it may still live: they answer 401 from then on')
    .addOption(jsonOption())
    .action(async (kid, flags) => {
      const { file, lifetimeMs } = await keyFile();
      const force = flags.force === true;
      const keys = await withServers((servers) =>
        audited(servers, { action: 'signing-keys.retire', kid, details: { force } }, async () => ({
          result: await changeKeys(file, async (before) => without(before, kid, lifetimeMs, force)),
          details: {},
        })),
      );
      show(keys, lifetimeMs, flags);
    });

async function withNewKey(
  before: SigningJwk[],
  lifetimeMs: number,
  activateAfterMs: number,
): Promise<SigningJwk[]> {
  const waiting = scheduleOf(before, Date.now(), lifetimeMs).find(({ state }) => state === 'waits');
  if (waiting !== undefined) {
    throw commandInvalid(`key ${waiting.kid} waits already, to sign from ${inWords(waiting.signsFrom)} on`);
  }
  const key = await newSigningKey();
  return [{ ...key, nbf: Math.ceil((Date.now() + activateAfterMs) / 1_000) }, ...before];
}

function without(before: SigningJwk[], kid: string, lifetimeMs: number, force: boolean): SigningJwk[] {
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
function refuseWhileInUse({ kid, state, tokensUntil }: KeySchedule, now: number): void {
  const forced = '; --force removes it all the same, and its tokens answer 401';
  if (state === 'signs') throw commandInvalid(`${kid} signs now${forced}`);
  if (tokensUntil === null) {
    throw commandInvalid(`nothing says since when ${kid} does not sign, so its tokens may live${forced}`);
  }
  if (now < tokensUntil) {
    throw commandInvalid(`tokens of ${kid} may live until ${inWords(tokensUntil)}${forced}`);
  }
}

/** @throws {StoreDataError} `command_invalid` where the keys are in no file. */
async function keyFile() {
  const { config, origin } = await readConnection(process.env);
  const { signingKeys, signingKeysFile, lifetimeSeconds } = config.tokens;
  if (signingKeys !== null) {
    throw commandInvalid(
      'the keys are in SIGNING_KEYS, which no command can change for running services: move them to a file and set SIGNING_KEYS_FILE, or change the variable (docs/deploying.md says in which steps)',
    );
  }
  // A local stack keeps its keys beside its own file.
  const ofStack = origin.endsWith(STACK_FILE) ? join(dirname(origin), 'signing-keys.json') : null;
  const file = signingKeysFile ?? ofStack;
  if (file === null) throw commandInvalid('SIGNING_KEYS_FILE is not set');
  return { file, lifetimeMs: lifetimeSeconds * 1_000 };
}

function show(keys: readonly SigningJwk[], lifetimeMs: number, flags: JsonFlag): void {
  const schedule = scheduleOf(keys, Date.now(), lifetimeMs);
  const shown = schedule.map(({ kid, state, signsFrom, tokensUntil }) => ({
    kid,
    state,
    signs_from: signsFrom === null ? null : new Date(signsFrom),
    tokens_until: tokensUntil === null ? null : new Date(tokensUntil),
  }));
  const table = tableOf(schedule, [
    ['KID', 'kid'],
    ['STATE', stateInWords],
  ]);
  printResult(flags, shown, table);
}

function stateInWords({ state, signsFrom, tokensUntil }: KeySchedule): string {
  if (state === 'waits') return `signs from ${inWords(signsFrom)} on`;
  if (state === 'signs') return 'signs';
  if (tokensUntil === null) return 'verifies';
  return tokensUntil > Date.now()
    ? `verifies, its tokens live until ${inWords(tokensUntil)}`
    : 'can be retired';
}

function inWords(time: number | null): string {
  return time === null ? 'an unknown time' : new Date(time).toISOString();
}
