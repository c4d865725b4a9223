/** Options and arguments that several commands share, checked before anything is connected. */
import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { StoreDataError } from '#shared/errors.ts';
import { CLIENT_ID_PATTERN, type Scope, SCOPES } from '#shared/events/access-event.ts';
import { isId } from '#shared/events/fields.ts';

/** Wrong usage: exit code 2. */
export class WrongUsage extends StoreDataError {
  constructor(message: string) {
    super('command_invalid', message);
  }
}

export const command = (name: string, description: string) =>
  new Command(name).description(description);

export const environmentOption = (meaning: string) =>
  new Option('-e, --environment <name>', meaning);

/** For a command that needs one environment. */
export const oneEnvironmentOption = () =>
  environmentOption('environment; needed if there are several');

export const storeOption = (meaning: string) =>
  new Option('-s, --store <id>', meaning).argParser(storeId);

export const storeCommand = (name: string, description: string) =>
  command(name, description)
    .argument('<store>', 'the store', storeId)
    .addOption(oneEnvironmentOption());

export const scopesOption = <const F extends string>(flags: F, meaning: string) =>
  new Option(flags, `${meaning}: ${SCOPES.join(', ')}`).argParser(scopes);

export const waitOption = () =>
  new Option(
    '--wait <seconds>',
    'how long a change that gives rights waits until the log is applied',
  )
    .default(15, '15')
    .argParser(wholeNumber(0, 3_600));

/** @param of which rows are shown, if there is a choice. */
export const limitOption = (usual: number, of = '') =>
  new Option('--limit <n>', `how many at most${of}`)
    .default(usual, String(usual))
    .argParser(wholeNumber(1, 1_000_000));

export function storeId(text: string): string {
  if (!isId(text)) throw new InvalidArgumentError('A store id is 1 to 64 of A-Z a-z 0-9 _ -.');
  return text;
}

export function clientId(text: string): string {
  if (!CLIENT_ID_PATTERN.test(text)) {
    throw new InvalidArgumentError(
      'A client_id is 1 to 128 printable ASCII characters without ":".',
    );
  }
  return text;
}

function scopes(text: string): Scope[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  for (const name of names) {
    if (!(SCOPES as readonly string[]).includes(name)) {
      throw new InvalidArgumentError(`There is no scope "${name}"; allowed: ${SCOPES.join(', ')}.`);
    }
  }
  if (names.length === 0) {
    throw new InvalidArgumentError(`At least one scope is needed; allowed: ${SCOPES.join(', ')}.`);
  }
  return SCOPES.filter((scope) => names.includes(scope));
}

const DURATION_UNITS = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** A span of time such as `90s`, `15min`, `24h`, `7d`, in milliseconds. */
export function duration(text: string): number {
  const [, digits, unit] = /^([1-9]\d{0,5})(s|min|h|d)$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined) {
    throw new InvalidArgumentError('A time is a whole number with s, min, h or d, such as 24h.');
  }
  return Number(digits) * DURATION_UNITS[unit as keyof typeof DURATION_UNITS];
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

export const generationNumber = wholeNumber(1, 1_000_000_000);
