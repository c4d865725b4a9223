// Outlives the owner of a stack by a moment: when the owner's end of the pipe closes, also by
// SIGKILL, it removes all that the owner held. Started by process.ts.
import { rmSync, rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

/** Paths are removed in this order. */
const held = { process: new Set<string>(), container: new Set<string>(), path: new Set<string>() };

/**
 * Applies one line: `<hold|release> <process|container|path> <what>`; a held one is acknowledged.
 */
function apply(line: string): void {
  const [verb = '', kind = '', ...rest] = line.split(' ');
  const ofKind = held[kind as keyof typeof held];
  if (verb !== 'hold') ofKind.delete(rest.join(' '));
  else {
    ofKind.add(rest.join(' '));
    process.stdout.write(`${line}\n`);
  }
}

function killGroup(group: string): void {
  try {
    process.kill(-Number(group), 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

async function removeContainers(): Promise<void> {
  if (held.container.size === 0) return;
  const { getContainerRuntimeClient } = await import('testcontainers');
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const removals = [...held.container].map((id) =>
    dockerode.getContainer(id).remove({ force: true, v: true }),
  );
  await Promise.allSettled(removals);
}

function removePath(path: string): void {
  try {
    // A killed process closes its files a moment later.
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    rmdirSync(dirname(path));
  } catch {
    // The folder around it holds other files, or the next start clears it.
  }
}

// Signals of the terminal are for the owner; the guardian ends after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// The owner may be gone before it reads an acknowledgement.
process.stdout.on('error', () => undefined);

for await (const line of createInterface({ input: process.stdin })) apply(line);
for (const group of held.process) killGroup(group);
await removeContainers();
for (const path of held.path) removePath(path);
