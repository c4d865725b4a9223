/** Makes foreign text harmless for a terminal: what an event brings must not move cursors or hide lines. */

// C0 and C1 controls, marks that turn the direction of text, line separators, lone surrogates.
const HARMFUL = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\p{Cs}]/gu;

/** Replaces what a terminal would obey by its escape. */
export function printable(text: string): string {
  return text.replaceAll(HARMFUL, (character) => {
    if (character === '\n') return String.raw`\n`;
    if (character === '\t') return String.raw`\t`;
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}

/** The same, cut to a length that fits a line. */
export function shortened(text: string, length: number): string {
  const clean = printable(text);
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`;
}
