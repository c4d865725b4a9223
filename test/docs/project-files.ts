/** The text files of the project, for tests of what they say of one another. */
import { globSync } from 'node:fs';

const PLACES = ['*', '{services,shared,deploy,test,docs}/**/*'];

/**
 * @param endings such as `.md`.
 * @returns paths from the project's root, sorted.
 */
export function projectFiles(endings: readonly string[]): string[] {
  return globSync(PLACES, { exclude: (name) => name === 'node_modules' || name === '.venv' })
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .toSorted();
}
