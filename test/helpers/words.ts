/** Splits lines into words: many short texts are easier to read as a block than one per line. */
export function words(...lines: string[]): string[] {
  return lines.flatMap((line) => line.split(' '));
}
