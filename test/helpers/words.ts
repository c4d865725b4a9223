/** The words of some lines: a table of many short texts without blanks reads better as a block than with a line for each. */
export function words(...lines: string[]): string[] {
  return lines.flatMap((line) => line.split(' '));
}
