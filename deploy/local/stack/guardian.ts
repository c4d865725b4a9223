// The process that outlives the owner of a stack by a moment: it holds one end of a pipe, and when the owner
// is gone, however it ended (SIGKILL too), it removes everything the owner had started and not yet removed.
// Started by guard.ts, which also documents the lines it understands.
import { rmSync, rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

/** Paths are removed in this order. */
const held = { process: new Set<string>(), container: new Set<string>(), path: new Set<string>() };

/** Applies one line: `<hold|release> <process|container|path> <what>`; a held one is acknowledged. */
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
  const removals = [...held.container].map((id) => dockerode.getContainer(id).remove({ force: true, v: true }));
  await Promise.allSettled(removals);
}

function removePath(path: string): void {
  try {
    // A killed process may still be letting go of its files for an instant.
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    rmdirSync(dirname(path));
  } catch {
    // The folder around it holds other files, or the next start clears it.
  }
}

// The terminal's Ctrl-C and a closed terminal are for the owner, whose end is the only thing that counts here.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// The owner may be gone before it reads an acknowledgement.
process.stdout.on('error', () => undefined);

for await (const line of createInterface({ input: process.stdin })) apply(line);
for (const group of held.process) killGroup(group);
await removeContainers();
for (const path of held.path) removePath(path);
