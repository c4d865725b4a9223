/** Folded forms in which names, documents and phones are compared, sorted and searched (rules R6.6, R6.7). */

/** Accents and letter case dropped: NFD, without `\p{M}`, in lower case. */
export function foldName(name: string): string {
  return name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** The ASCII digits of a text. */
export function digitsOf(text: string): string {
  return text.replaceAll(/[^0-9]/g, '');
}

/** The letters and digits of a text, in lower case. */
export function alphanumericOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{Nd}]/gu, '').toLowerCase();
}
