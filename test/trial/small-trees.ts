/** The maximum records of a leaf and parts of a node, in every process of the trial. */
export const SMALL_TREES = [3, 3] as const;
