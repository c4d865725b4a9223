/** Money is counted in whole cents: binary fractions don't add up. */

/** Cents as events carry money: `3990` is `"39.90"`. */
export function money(cents: number): string {
  const digits = String(cents).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** A share of an amount, to the nearest cent. */
export function percentOf(cents: number, percent: number): number {
  return Math.round((cents * percent) / 100);
}
