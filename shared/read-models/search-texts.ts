/**
 * Search texts: what a search compares of customers, gathered in the leaves of their tree, so that a few thousand documents are read
 * instead of a million. A leaf's texts hold a piece for each of its customers, in no order. Neither names nor
 * what is searched for hold NUL, so every piece begins and ends with it: none is a part of another.
 */

/** Pieces of one customer, or of all of a leaf. */
export interface SearchTexts {
  /** `\0` folded name `\0`. */
  names: string;
  /** `\0d` the document's digits `p` the phone's `\0`. */
  numbers: string;
  /** Everything that is compared, and the id: `\0n` name `\0i` id `\0d` digits `\0k` letters and digits `\0p` phone `\0`. */
  lines: string;
}

/** The names of the texts. */
export const SEARCH_TEXTS = ['names', 'numbers', 'lines'] as const satisfies (keyof SearchTexts)[];

/** What is compared of a customer, and the id. */
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
  const [name = '', id = ''] = key.split('\0');
  return {
    names: `\0${name}\0`,
    numbers: `\0d${digits}p${phone}\0`,
    lines: `\0n${name}\0i${id}\0d${digits}\0k${letters}\0p${phone}\0`,
  };
}

/** The customers of a leaf's lines. */
export function searchedIn(lines: string): Searched[] {
  return lines
    .split('\0n')
    .slice(1)
    .map((line) => {
      const [name = '', id = '', digits = '', letters = '', phone = ''] = line.split('\0');
      return {
        rank_key: `${name}\0${id.slice(1)}`,
        document_digits: digits.slice(1),
        document_key: letters.slice(1),
        phone_digits: phone.slice(1),
      };
    });
}
