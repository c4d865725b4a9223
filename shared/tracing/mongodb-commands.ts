/**
 * A span for each command to MongoDB that is a part of another span. The driver's own monitoring would have every reply decoded,
 * also those that nobody traces, so that its connections are watched instead; its version is pinned, since it offers no place for that.
 */
import { createRequire } from 'node:module';
import { activeSpan, traced } from '../tracing.ts';

type Command = (
  this: unknown,
  namespace: { db: string },
  command: Record<string, unknown>,
  ...others: unknown[]
) => Promise<unknown>;

interface Driver {
  Connection: { prototype: { command: Command } };
}

let isWatched = false;

/** Has every client of this process traced from now on. */
export function traceCommands(): void {
  if (isWatched) return;
  isWatched = true;
  const { prototype } = (createRequire(import.meta.url)('mongodb/lib/cmap/connection') as Driver).Connection;
  const { command: send } = prototype;
  prototype.command = function (namespace, command, ...others) {
    const parent = activeSpan();
    if (parent === undefined) return send.call(this, namespace, command, ...others);
    const [name = 'none', on] = Object.entries(command)[0] ?? [];
    // The command itself holds what is stored and asked for; of `getMore` the collection stands beside it.
    const { collection = on } = command;
    const target = typeof collection === 'string' ? collection : null;
    const span = parent.child(target === null ? name : `${name} ${target}`, 'client', {
      'db.system.name': 'mongodb',
      'db.namespace': namespace.db,
      'db.operation.name': name,
      ...(target === null ? {} : { 'db.collection.name': target }),
    });
    return traced(span, () => send.call(this, namespace, command, ...others));
  };
}
