/** The wish of whoever runs a command to end it: Ctrl-C, or a signal of the system. */

/** Aborted by the first signal; the second one ends the process. */
export function stopSignal(): AbortSignal {
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort());
  return stopped.signal;
}
