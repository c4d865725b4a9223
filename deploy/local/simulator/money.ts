/** Money is counted in whole cents: binary fractions don't add up. */

/** Cents as events carry money: `3990` is `"39.90"`. */
export function money(amount: number): string {
  const digits = String(amount).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** The cents of an amount that an event carries. */
export function cents(text: string): number {
  return Number(text.replace('.', ''));
}

/** A share of an amount, to the nearest cent. */
export function percentOf(amount: number, percent: number): number {
  return Math.round((amount * percent) / 100);
}
