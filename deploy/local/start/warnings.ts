/** Keeps a warning off the screen that says nothing to anybody here. */

/** kafkajs sets timers to negative times, which Node takes for one millisecond and complains about. */
export function silenceTimerWarnings(): void {
  const report = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name === 'TimeoutNegativeWarning') return;
    for (const listener of report) listener(warning);
  });
}
