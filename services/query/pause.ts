/** A wait that can be ended. */

/** Waits; answers false as soon as the signal is aborted. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  return new Promise((resolve) => {
    const end = (goOn: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve(goOn);
    };
    const stop = () => end(false);
    const timer = setTimeout(end, milliseconds, true);
    signal.addEventListener('abort', stop);
  });
}
