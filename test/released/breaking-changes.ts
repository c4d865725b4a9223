/**
 * What may break clients between two OpenAPI documents: all that is gone or changed, and new
 * restrictions of what was there. It knows no direction: what a parameter newly takes is named like
 * what an answer may newly hold.
 */
import { words } from '#test/words.ts';

/** Read by people. Fields of records may have these names. */
const TEXTS = new Set(words('description summary title example examples tags info servers'));
const NEW_RESTRICTION =
  /^(.*)\.(?:(?:enum|type|const|pattern|format|required|(?:min|max)\w+): |anyOf\[)/;
const NEEDED_PARAMETER = /\]\.required: true$/;
/** Of an answer: a new field that is always there. */
const FIELD_OF_ANSWER = /^(?!.*Request).*\.required: "/;

/** @returns a line for each change. */
export function breakingChanges(released: object, present: object): string[] {
  const [before, after] = [released, present].map((one) => new Set(factsIn(one, ''))) as [
    Set<string>,
    Set<string>,
  ];
  const gone = [...before].filter((fact) => !after.has(fact));
  const added = [...after].filter((fact) => {
    const [, place = 'nowhere'] = NEW_RESTRICTION.exec(fact) ?? [];
    const isRestriction = before.has(place) && !FIELD_OF_ANSWER.test(fact);
    return !before.has(fact) && (isRestriction || NEEDED_PARAMETER.test(fact));
  });
  const isWithin = (fact: string, other: string) =>
    fact.startsWith(other) && /^[.[]/.test(fact.slice(other.length));
  const outermost = gone.filter((fact) => !gone.some((other) => isWithin(fact, other)));
  return [
    ...outermost.map((fact) => `${fact.slice(1)} is gone`),
    ...added.map((fact) => `${fact.slice(1)} is new`),
  ];
}

/** The place of each object, and of each value with it. The order of a list says nothing. */
function* factsIn(value: unknown, place: string): Generator<string> {
  if (typeof value !== 'object' || value === null) yield `${place}: ${JSON.stringify(value)}`;
  else if (Array.isArray(value)) {
    for (const one of value as unknown[]) {
      const { name = JSON.stringify(one) } = one as { name?: string };
      yield* factsIn(one, typeof one === 'object' ? `${place}[${name}]` : place);
    }
  } else {
    yield place;
    for (const [name, inner] of Object.entries(value)) {
      if (!TEXTS.has(name) || place.endsWith('.properties')) {
        yield* factsIn(inner, `${place}.${name}`);
      }
    }
  }
}
