/** What is deprecated and when it ends, as endpoints and parameters declare it: headers of answers, and words of the OpenAPI document. */
import { parseUrlEncoded } from '../parameters/url-encoded.ts';

/** Days are `YYYY-MM-DD`, and begin at midnight UTC. */
export interface Deprecation {
  since: string;
  /** From this day on it may be gone. */
  sunset?: string;
  /** What to use, as a sentence. */
  instead: string;
}

/** Makes what tells the headers of the answers to a query: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), the earliest of what it uses. */
export function deprecationHeaders(
  endpoint: Deprecation | undefined,
  parameters: Readonly<Record<string, { deprecation?: Deprecation }>>,
): (query: string) => Record<string, string> {
  const deprecated = Object.entries(parameters).flatMap(([name, { deprecation }]) =>
    deprecation === undefined ? [] : [{ name, deprecation }],
  );
  const ofEndpoint = endpoint === undefined ? [] : [endpoint];
  if (ofEndpoint.length + deprecated.length === 0) return () => ({});
  return (query) => {
    const given = new Set(parseUrlEncoded(query).map(({ name }) => name));
    const used = deprecated.filter(({ name }) => given.has(name)).map(({ deprecation }) => deprecation);
    const all = [...ofEndpoint, ...used];
    const since = earliest(all.map((one) => one.since));
    const sunset = earliest(all.flatMap((one) => one.sunset ?? []));
    return {
      ...(since !== undefined && { deprecation: `@${since.getTime() / 1_000}` }),
      ...(sunset !== undefined && { sunset: sunset.toUTCString() }),
    };
  };
}

function earliest(days: readonly string[]): Date | undefined {
  const [first] = days.toSorted();
  return first === undefined ? undefined : new Date(`${first}T00:00:00Z`);
}

/** Adds to what the OpenAPI document says of an operation or a parameter. */
export function withDeprecation<T extends { description: string }>(
  object: T,
  deprecation: Deprecation | undefined,
): T & { deprecated?: true } {
  if (deprecation === undefined) return object;
  const { since, sunset, instead } = deprecation;
  const end = sunset === undefined ? '' : `, and may be gone from ${sunset} on`;
  return {
    ...object,
    deprecated: true,
    description: `${object.description}\n\nDeprecated since ${since}${end}. ${instead}`,
  };
}
