import { describe, expect, it } from 'vitest';
import { readChange } from '#shared/events/change.ts';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { received, rejectionOf } from '#test/events.ts';
import { GROUP_BYTES, LISTS, textBound } from '#test/contract-bounds.ts';
import { TEXT, COMPLETE_STATES } from '#test/complete-states.ts';
import { times } from '#test/times.ts';

type Path = (string | number)[];
interface Found {
  entity: EntityName;
  path: Path;
  value: unknown;
}

/** Where a new text has to be named. */
const BOUNDS = 'the bound differs from rule R12.5, which test/helpers/contract-bounds.ts copies';

/** All values of the complete states, at any depth. */
const EVERYTHING = ENTITY_NAMES.flatMap((entity) => within(entity, COMPLETE_STATES[entity], []));
const TEXTS = EVERYTHING.filter(({ value }) => value === TEXT);
const ALL_LISTS = EVERYTHING.filter(({ value }) => Array.isArray(value));

function within(entity: EntityName, value: unknown, path: Path): Found[] {
  if (typeof value !== 'object' || value === null) return [{ entity, path, value }];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  const inner = entries.flatMap(([step, next]) => within(entity, next, [...path, step]));
  return path.length === 0 ? inner : [{ entity, path, value }, ...inner];
}

/** The state with another value at a path. */
function changed(value: unknown, [step, ...rest]: Path, to: unknown): unknown {
  if (step === undefined) return to;
  if (Array.isArray(value))
    return value.map((entry, at) => (at === step ? changed(entry, rest, to) : entry));
  const object = value as Record<string, unknown>;
  return { ...object, [step]: changed(object[String(step)], rest, to) };
}

function read(entity: EntityName, data: unknown): string {
  const subject = entity === 'store' ? 's1' : 'x1';
  const rejection = rejectionOf(() =>
    readChange(received({ entity, storeId: 's1', subject, sequence: 1, data })),
  );
  return rejection === null ? 'accepted' : `${rejection.reason}: ${rejection.detail}`;
}

/** A path as in reasons: `data.items[0].name`. */
function nameOf(path: Path): string {
  return `data${path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')}`;
}

function spelled({ entity, path }: Found): string {
  return `${entity}: ${nameOf(path)}`;
}

it('every value of an event has a known type', () => {
  expect(EVERYTHING.filter(({ value }) => value === undefined)).toEqual([]);
});

it.each(TEXTS.map((found): [string, Found] => [spelled(found), found]))(
  'the text %s may have its maximum number of code points, and not one more',
  (_name, { entity, path }) => {
    const bound = textBound(String(path.at(-1)));
    // Single code points: of one to four bytes, of two UTF-16 units, a combining one, and
    // escapes.
    for (const character of ['a', 'ã', '€', '😀', '\u0301', '"', '\u0001']) {
      const at = (length: number) =>
        read(entity, changed(COMPLETE_STATES[entity], path, character.repeat(length)));
      expect(at(bound), BOUNDS).toBe('accepted');
      expect(at(bound + 1), BOUNDS).toBe(
        `invalid_data: ${nameOf(path)} must not have more than ${bound} characters`,
      );
    }
  },
);

describe('a list', () => {
  it.each(ALL_LISTS.map((found): [string, Found] => [spelled(found), found]))(
    '%s may have its maximum number of entries, and not one more',
    (_name, { entity, path, value }) => {
      const bound =
        (LISTS as Record<string, number>)[
          nameOf(path)
            .replace('data.', '')
            .replaceAll(/\[\d+\]/g, '[]')
        ] ?? 0;
      const at = (length: number) => {
        const entries = times(length, () => (value as unknown[])[0]);
        return read(entity, changed(COMPLETE_STATES[entity], path, entries));
      };
      expect(bound).toBeGreaterThan(0);
      expect(at(bound)).toBe('accepted');
      expect(at(bound + 1)).toBe(
        `invalid_data: ${nameOf(path)} must not have more than ${bound} entries`,
      );
    },
  );

  it('that is too long is the reason, whatever else is wrong with its entries', () => {
    const items = times(100_000, () => 7);
    expect(read('order', { ...COMPLETE_STATES.order, items })).toBe(
      'invalid_data: data.items must not have more than 500 entries',
    );
  });
});

describe('an option group', () => {
  const group = COMPLETE_STATES.option_group;
  const [option] = group.options;
  const withOptions = (descriptions: string[]) => ({
    ...group,
    options: descriptions.map((description) => ({ ...option, description })),
  });
  /** A group of exactly so many bytes of JSON, with texts of a given character. */
  const ofBytes = (bytes: number, character: string) => {
    const each = Buffer.byteLength(JSON.stringify(character)) - 2;
    const left = (state: object) => bytes - Buffer.byteLength(JSON.stringify(state));
    const descriptions = [''];
    while (left(withOptions(descriptions)) > 5_000) {
      descriptions.push(character.repeat(Math.floor(4_000 / each)));
    }
    const rest = left(withOptions(descriptions));
    descriptions[0] = character.repeat(Math.floor(rest / each)) + 'a'.repeat(rest % each);
    return withOptions(descriptions);
  };

  it.each(['a', 'ã', '😀', '"', '\u0001'])(
    'of %j may have 64 KiB of known fields, and not one byte more',
    (character) => {
      const atBound = ofBytes(GROUP_BYTES, character);
      expect(Buffer.byteLength(JSON.stringify(atBound))).toBe(GROUP_BYTES);
      expect(read('option_group', atBound)).toBe('accepted');
      expect(read('option_group', ofBytes(GROUP_BYTES + 1, character))).toBe(
        'invalid_data: data must not have more than 65536 bytes (64 KiB) of known fields in JSON',
      );
    },
  );

  it('is not measured by unknown fields, at any depth', () => {
    const atBound = ofBytes(GROUP_BYTES, 'a');
    const unknown = 'x'.repeat(70_000);
    const options = atBound.options.map((one) => ({
      ...one,
      unknown: { name: unknown.slice(0, 9_000) },
    }));
    // A known field of options, not of groups.
    expect(
      read('option_group', { ...atBound, options, unknown, id: unknown, description: [unknown] }),
    ).toBe('accepted');
  });

  it('is measured with the fields that are null', () => {
    expect(group.price_method).toBe('sum');
    // `null` takes one byte less than `"sum"`.
    const withNull = (bytes: number) =>
      read('option_group', { ...ofBytes(bytes + 1, 'a'), price_method: null });
    expect(withNull(GROUP_BYTES)).toBe('accepted');
    expect(withNull(GROUP_BYTES + 1)).toContain('65536');
  });
});
