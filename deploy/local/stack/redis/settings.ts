// redis-server's settings: the same for the program and for the container.

/** Nothing is evicted, as the service asks for; on disk only what is to be kept. */
export function redisArguments(port: number, keepData: boolean): string[] {
  // An append-only file survives a kill, which snapshots don't; nothing at all is quicker to end and to remove.
  const onDisk = ['--save', '', '--appendonly', keepData ? 'yes' : 'no'];
  return ['--port', String(port), '--maxmemory-policy', 'noeviction', ...onDisk];
}
