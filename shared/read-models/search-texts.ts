/**
 * Folded forms in which names, documents and phones are compared, sorted and searched, and the
 * texts of leaves that a search reads.
 */
export interface SearchTexts {
  /** `\0` folded name `\0`; nothing for an empty name, which no search finds. */
  names: string;
  /**
   * `\0d` the document's digits `p` the phone's `\0`; before the last, of a document with letters,
   * `k` and its letters and digits.
   */
  numbers: string;
}

export function bytesOfTexts({ names, numbers }: SearchTexts): number {
  return Buffer.byteLength(names) + Buffer.byteLength(numbers);
}

export const SEARCH_TEXTS = ['names', 'numbers'] as const satisfies (keyof SearchTexts)[];

export interface Searched {
  /** The folded name, NUL and the id. */
  rank_key: string;
  document_digits: string;
  document_key: string;
  phone_digits: string;
}

export function searchTexts({
  rank_key: key,
  document_digits: digits,
  document_key: letters,
  phone_digits: phone,
}: Searched): SearchTexts {
  const name = key.slice(0, key.indexOf('\0'));
  return {
    names: name === '' ? '' : `\0${name}\0`,
    numbers: `\0d${digits}p${phone}${letters === digits ? '' : `k${letters}`}\0`,
  };
}

/** Accents and letter case dropped: NFD, without `\p{M}`, in lower case. */
export function foldName(name: string): string {
  return name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

export function digitsOf(text: string): string {
  return text.replaceAll(/[^0-9]/g, '');
}

export function alphanumericOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{Nd}]/gu, '').toLowerCase();
}
