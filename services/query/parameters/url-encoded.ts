/** `name=value&…` read strictly: what is not valid percent-encoding of UTF-8 is no text at all. */

/** Stands for itself. */
const PLAIN = /^[\w.~-]*$/;

/** One part, decoded; `null` marks a side that is malformed. */
export interface Pair {
  name: string | null;
  value: string | null;
}

/** The pairs of a query string or form, in order; empty segments are skipped, as everywhere on the web. */
export function parseUrlEncoded(text: string): Pair[] {
  const pairs: Pair[] = [];
  for (const segment of text.split('&')) {
    if (segment === '') continue;
    const equals = segment.indexOf('=');
    pairs.push({
      name: decode(equals === -1 ? segment : segment.slice(0, equals)),
      value: equals === -1 ? '' : decode(segment.slice(equals + 1)),
    });
  }
  return pairs;
}

/**
 * Decodes one name or value: `+` is a blank; `null` when it is not valid percent-encoding of UTF-8, or holds
 * something that should have been encoded (a plain blank is let pass: people type it into forms).
 */
export function decode(text: string): string | null {
  if (PLAIN.test(text)) return text;
  if (/[^\x20-\x7e]/.test(text)) return null;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
