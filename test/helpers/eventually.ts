/** Waits until `check` returns true; after `timeoutMs` fails with the text. */
export async function eventually(
  what: string,
  check: () => Promise<boolean> | boolean,
  timeoutMs = 120_000,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    if (await check()) return;
    if (Date.now() > end) throw new Error(`after ${timeoutMs} ms not yet: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
