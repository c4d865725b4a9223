/** `publish --check`: reads events as they would be sent, but sends none and needs no server. */
import { markFailed, printResult } from '../output/print.ts';
import { openInput } from './input.ts';
import { noCounts, publishStream } from './publish-stream.ts';

/** Tells every line of a file that is no event; one such line makes the command fail. */
export async function checkEvents(file: string, flags: { json?: true | undefined }): Promise<void> {
  const { stream } = await openInput(file);
  const counts = noCounts();
  await publishStream({
    input: stream,
    // It takes every event and does nothing with it.
    producer: { sendBatch: async () => [] },
    environment: 'none',
    signal: new AbortController().signal,
    counts,
    rejected: (line, { reason, detail }) => {
      const told = flags.json
        ? JSON.stringify({ line, reason, detail })
        : `line ${line}: ${reason}: ${detail}`;
      process.stderr.write(`${told}\n`);
    },
  });
  const { sent: valid, rejected, blank, bytes } = counts;
  const text = `${valid} are events, ${rejected} are not`;
  printResult(flags, { valid, rejected, blank, bytes }, text);
  if (rejected > 0) markFailed();
}
