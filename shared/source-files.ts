/** How the names of our programs' files end: the package has them as JavaScript. */
export const PROGRAM_SUFFIX = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
