/** Asks the query service for a token, to know that a key is live: the only proof that counts is the answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from './failure.ts';
import type { IssuedKey } from './stack-file.ts';

const LIMIT_MS = 30_000;
/** Seldom enough not to look like somebody who guesses secrets. */
const PAUSE_MS = 200;

/**
 * Waits until the key gets a token.
 * @throws {StartError} with the last answer when it gets none in time.
 */
export async function awaitToken(queryUrl: string, key: IssuedKey, stopping: AbortSignal): Promise<void> {
  const limit = Date.now() + LIMIT_MS;
  for (;;) {
    const answer = await askForToken(queryUrl, key);
    if (answer === null) return;
    if (Date.now() > limit) {
      throw new StartError(`no token for a key of ${key.store_id} in ${key.environment}: ${answer}`);
    }
    await sleep(PAUSE_MS, undefined, { signal: stopping });
  }
}

/** `null` when there was a token, else what the answer was. */
async function askForToken(queryUrl: string, key: IssuedKey): Promise<string | null> {
  const credentials = Buffer.from(`${key.client_id}:${key.client_secret}`).toString('base64');
  try {
    const response = await fetch(`${queryUrl}/api/auth/token/`, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
      signal: AbortSignal.timeout(2_000),
    });
    const body = await response.text();
    return response.ok ? null : `${response.status} ${body}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
