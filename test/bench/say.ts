/** Progress for people, on standard error: standard output belongs to the result. */

export type Say = (line: string) => void;

export const say: Say = (line) => {
  process.stderr.write(`${line}\n`);
};
