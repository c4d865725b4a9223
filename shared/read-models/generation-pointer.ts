/**
 * The pointer of an environment: which generation is live, and what becomes of the others. One document in the
 * control database, so that a flip is one write; every change is a compare-and-set of its revision.
 */
import type { Collection, Db } from 'mongodb';
import { StoreDataError } from '../errors.ts';

/**
 * `building`: filled beside the live one, and never answered yet · `kept`: was live, and is still projected so that a rollback
 * loses nothing · `dropping`: no process may use it any longer, and its database is removed.
 */
export type OtherState = 'building' | 'kept' | 'dropping';

export interface OtherGeneration {
  number: number;
  state: OtherState;
  /** Of one that is built: the percentage of time that filling it may take while others have events to apply. */
  share?: number;
}

export interface GenerationPointer {
  /** The environment. */
  _id: string;
  live: number;
  /** The one that was live before, to which a rollback leads. */
  previous?: number;
  /** The highest number that was ever given: none is given twice. */
  last?: number;
  others?: OtherGeneration[];
  revision?: number;
}

/** How often a change is tried against others that are made at the same moment. */
const ATTEMPTS = 20;

/** The pointers of all environments. */
export function pointersIn(control: Db): Collection<GenerationPointer> {
  return control.collection('generations');
}

/**
 * Changes a pointer.
 * @param change makes the new pointer; if it throws, nothing changes.
 * @throws {StoreDataError} `not_found` when the environment has no generation.
 */
export async function changePointer(
  control: Db,
  environment: string,
  change: (pointer: GenerationPointer) => GenerationPointer,
): Promise<GenerationPointer> {
  const pointers = pointersIn(control);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = await pointers.findOne({ _id: environment });
    if (before === null) throw new StoreDataError('not_found', `${environment} has no generation yet`);
    const { _id, ...after } = { ...change(before), revision: (before.revision ?? 0) + 1 };
    const revision = before.revision ?? { $exists: false };
    const { modifiedCount } = await pointers.replaceOne({ _id, revision }, after);
    if (modifiedCount === 1) return { _id, ...after };
  }
  throw new StoreDataError('command_invalid', `others change the generations of ${environment}: try again`);
}

/** With a new generation that is to be built. */
export function withNew(pointer: GenerationPointer, share: number): GenerationPointer {
  const number = Math.max(pointer.last ?? 0, pointer.live) + 1;
  return { ...pointer, last: number, others: [...others(pointer), { number, state: 'building', share }] };
}

/** With another share for one that is built. */
export function withShare(pointer: GenerationPointer, number: number, share: number): GenerationPointer {
  return {
    ...pointer,
    others: others(pointer).map((other) => (other.number === number ? { ...other, share } : other)),
  };
}

/**
 * With another live generation; the one that was live is kept.
 * @throws {StoreDataError} `command_invalid` unless it is there and not about to be dropped.
 */
export function withLive(pointer: GenerationPointer, number: number): GenerationPointer {
  const found = others(pointer).find((other) => other.number === number);
  if (found === undefined || found.state === 'dropping') {
    throw new StoreDataError('command_invalid', `generation ${number} of ${pointer._id} cannot become live`);
  }
  return {
    ...pointer,
    live: number,
    previous: pointer.live,
    others: [
      ...others(pointer).filter((other) => other.number !== number),
      { number: pointer.live, state: 'kept' },
    ],
  };
}

/**
 * With a generation that is about to be dropped.
 * @throws {StoreDataError} `command_invalid` for the live one, `not_found` where there is none of this number.
 */
export function withDropping(pointer: GenerationPointer, number: number): GenerationPointer {
  if (pointer.live === number) {
    throw new StoreDataError(
      'command_invalid',
      `generation ${number} of ${pointer._id} is live and cannot be dropped`,
    );
  }
  if (!others(pointer).some((other) => other.number === number)) {
    throw new StoreDataError('not_found', `${pointer._id} has no generation ${number}`);
  }
  const { previous, ...rest } = pointer;
  return {
    ...rest,
    ...(previous === undefined || previous === number ? {} : { previous }),
    others: others(pointer).map((other) =>
      other.number === number ? { number, state: 'dropping' as const } : other,
    ),
  };
}

/** Without a generation whose database is gone. */
export function without(pointer: GenerationPointer, number: number): GenerationPointer {
  return { ...pointer, others: others(pointer).filter((other) => other.number !== number) };
}

function others(pointer: GenerationPointer): OtherGeneration[] {
  return pointer.others ?? [];
}
