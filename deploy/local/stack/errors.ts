// The one kind of error the stack throws on purpose: its message is for the person at the keyboard.

import { withoutCredentials } from '#shared/address.ts';

/** Something the person who starts the stack can act on. Show `message` alone: the stack trace says nothing more. */
export class StackError extends Error {
  override readonly name = 'StackError';
}

/** What went wrong in words, whatever was thrown, without credentials of servers. */
export function reasonOf(error: unknown): string {
  return withoutCredentials(error instanceof Error ? error.message : String(error));
}
