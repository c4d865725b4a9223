/** Documents carry the check digits that forms and back offices verify. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cnpj, cpf } from '#local/simulator/brazil/documents.ts';
import { draw } from '#local/simulator/random.ts';

/** The rule as the tax office words it: weights from 2 upwards, from the right, for a CNPJ starting over after 9. */
function isValid(document: string, largestWeight: number): boolean {
  return [document.length - 2, document.length - 1].every((place) => {
    let sum = 0;
    for (let index = place - 1, weight = 2; index >= 0; index -= 1) {
      sum += Number(document[index]) * weight;
      weight = weight === largestWeight ? 2 : weight + 1;
    }
    const rest = sum % 11;
    return Number(document[place]) === (rest < 2 ? 0 : 11 - rest);
  });
}

test('knows well-known valid and invalid numbers', () => {
  expect(isValid('11144477735', 11)).toBe(true);
  expect(isValid('11144477736', 11)).toBe(false);
  expect(isValid('11222333000181', 9)).toBe(true);
});

test('every CPF and CNPJ is valid', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const [person, company] = draw(seed, ['documents'], (chance) => [cpf(chance), cnpj(chance)]);
      expect(person).toMatch(/^\d{11}$/);
      expect(isValid(person ?? '', 11)).toBe(true);
      expect(company).toMatch(/^\d{8}0001\d{2}$/);
      expect(isValid(company ?? '', 9)).toBe(true);
    }),
  );
});
