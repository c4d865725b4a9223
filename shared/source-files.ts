/** The suffix of our programs: the package has them as JavaScript. */
export const PROGRAM_SUFFIX = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
