/** The one kind of error that `npm start` raises itself. */

/** Something that the person at the keyboard can act on: the message says all. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
