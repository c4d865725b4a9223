/** Paths of the project's text files. */
import { globSync } from 'node:fs';

const PLACES = ['*', '{services,shared,deploy,test,docs}/**/*'];

/** @returns sorted paths from the project's root. */
export function projectFiles(endings: readonly string[]): string[] {
  return globSync(PLACES, { exclude: (name) => ['node_modules', '.venv', 'dist'].includes(name) })
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .toSorted();
}
