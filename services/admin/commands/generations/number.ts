/** An argument that is the number of a generation. */
import { wholeNumber } from '../../options.ts';

export const generationNumber = wholeNumber(1, 1_000_000_000);
