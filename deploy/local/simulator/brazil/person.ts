/** Invented persons: common names in random combination, numbers and addresses that reach nobody. */
import { type Chance, happens } from '../random.ts';
import type { City } from './cities.ts';

/** A first name and one or two family names. */
export function personName(chance: Chance): string {
  const names = [chance.person.firstName(), chance.person.lastName()];
  if (happens(chance, 55)) names.push(chance.person.lastName());
  // Two equal family names are rare enough to look like a mistake.
  return [...new Set(names)].join(' ');
}

/** A mobile number in the city's area. Those that begin with 90 are given to nobody. */
export function mobilePhone(chance: Chance, city: City): string {
  return `+55${city.area}90${chance.string.numeric(7)}`;
}

/** An e-mail address at a domain that is reserved for examples (RFC 2606). */
export function email(name: string, number: number): string {
  return `${asciiLetters(name.split(' ').slice(0, 2).join('.'))}${number}@example.com`;
}

/** Lower-case ASCII letters, digits and dots. */
export function asciiLetters(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]/g, '');
}
