/** Numbers of persons (CPF) and companies (CNPJ): drawn at random, with the check digits that forms verify. */
import type { Chance } from '../random.ts';

const CPF_WEIGHTS = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2];
const CNPJ_WEIGHTS = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];

/** A CPF: nine digits and two check digits. */
export function cpf(chance: Chance): string {
  return withCheckDigits(chance.string.numeric(9), CPF_WEIGHTS);
}

/** A CNPJ of a company's first branch: eight digits, `0001` and two check digits. */
export function cnpj(chance: Chance): string {
  return withCheckDigits(`${chance.string.numeric(8)}0001`, CNPJ_WEIGHTS);
}

/** Appends the two check digits (modulo 11); the last weights are those of the second one. */
function withCheckDigits(digits: string, weights: readonly number[]): string {
  const first = digits + checkDigit(digits, weights.slice(1));
  return first + checkDigit(first, weights);
}

function checkDigit(digits: string, weights: readonly number[]): string {
  const sum = weights.reduce((total, weight, index) => total + weight * Number(digits[index]), 0);
  const rest = sum % 11;
  return String(rest < 2 ? 0 : 11 - rest);
}
