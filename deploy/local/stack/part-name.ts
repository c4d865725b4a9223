// The names of the stack's servers.

/** The three servers. */
export type PartName = 'kafka' | 'mongodb' | 'redis';
