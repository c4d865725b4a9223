/** Bar codes of packaged goods. */

/** An EAN-13 out of the range 20, which is kept for codes of a shop's own: no maker's product has it. */
export function ean13(number: number): string {
  const digits = `20${String(number).padStart(10, '0')}`;
  const sum = Array.from(digits, Number).reduce(
    (total, digit, place) => total + digit * (place % 2 === 0 ? 1 : 3),
    0,
  );
  return `${digits}${(10 - (sum % 10)) % 10}`;
}
