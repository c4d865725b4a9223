/**
 * Search texts: what a search compares of customers, gathered in the leaves of their tree, so that a few thousand documents are read
 * instead of a million. A leaf's texts hold a piece for each of its customers, in no order. Neither names nor
 * what is searched for hold NUL, so every piece begins and ends with it and has something between: none is a part of another,
 * nor of two that follow each other.
 */

/** Pieces of one customer, or of all of a leaf. */
export interface SearchTexts {
  /** `\0` folded name `\0`; nothing for an empty name, which no search finds. */
  names: string;
  /** `\0d` the document's digits `p` the phone's `\0`; before the last, of a document that holds letters, `k` and its letters and digits. */
  numbers: string;
}

/** Bytes of texts as they are stored. */
export function bytesOfTexts({ names, numbers }: SearchTexts): number {
  return Buffer.byteLength(names) + Buffer.byteLength(numbers);
}

/** The names of the texts. */
export const SEARCH_TEXTS = ['names', 'numbers'] as const satisfies (keyof SearchTexts)[];

/** What is compared of a customer. */
export interface Searched {
  /** The folded name, NUL and the id. */
  rank_key: string;
  document_digits: string;
  document_key: string;
  phone_digits: string;
}

/** The pieces of a customer. */
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
