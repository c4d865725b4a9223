/** The kinds of stores, in the order in which stores get them. */
import { acaiteria } from './acaiteria.ts';
import type { Cuisine } from './cuisine.ts';
import { hamburgueria } from './hamburgueria.ts';
import { japonesa } from './japonesa.ts';
import { marmitaria } from './marmitaria.ts';
import { pizzaria } from './pizzaria.ts';

const CUISINES: readonly Cuisine[] = [pizzaria, hamburgueria, marmitaria, japonesa, acaiteria];

/** The kind of the n-th store (from 0). Shifted at each round, so that no city is bound to one kind. */
export function cuisineOf(index: number): Cuisine {
  return CUISINES[(index + Math.floor(index / CUISINES.length)) % CUISINES.length] ?? pizzaria;
}
