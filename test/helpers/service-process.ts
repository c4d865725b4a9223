/** Runs a service as a process, for tests that kill it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, on } from 'node:events';
import { createInterface } from 'node:readline';

export interface ServiceProcess {
  process: ChildProcess;
  lines: LogLine[];
  /** Resolves after the process ended, when `lines` is complete. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /**
   * Resolves with the first past or future line that `check` accepts; rejects if the process ends
   * before.
   */
  logged: (check: (line: LogLine) => boolean) => Promise<LogLine>;
  kill: (signal: NodeJS.Signals) => void;
}

export type LogLine = Record<string, unknown> & { msg?: string };

/**
 * Starts `services/<name>/main.ts`, or another program of that service, with the given environment.
 */
export function startService(
  name: 'projector' | 'query',
  env: Record<string, string>,
  logLevel: 'info' | 'trace' = 'info',
  program = `services/${name}/main.ts`,
): ServiceProcess {
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', program], {
    env: { ...inheritedEnvironment(), ...env, LOG_LEVEL: logLevel },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: LogLine[] = [];
  const output = new EventEmitter();
  const read = (text: string) => {
    lines.push(parse(text));
    output.emit('line', lines.at(-1));
  };
  createInterface({ input: child.stdout }).on('line', read);
  createInterface({ input: child.stderr }).on('line', read);
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => {
      output.emit('end');
      resolve({ code, signal });
    });
  });
  return {
    process: child,
    lines,
    ended,
    async logged(check) {
      const past = lines.find(check);
      if (past !== undefined) return past;
      const following: AsyncIterable<LogLine[]> = on(output, 'line', { close: ['end'] });
      for await (const line of following) {
        const found = line.find(check);
        if (found !== undefined) return found;
      }
      const { code, signal } = await ended;
      throw new Error(`${name} ended (${code ?? signal}): ${JSON.stringify(lines.slice(-5))}`);
    },
    kill: (signal) => child.kill(signal),
  };
}

/** The addresses of a service, once it listens. */
export async function listening({ logged }: ServiceProcess): Promise<{
  url: string;
  operations: string;
}> {
  const { url, operations } = await logged((line) => typeof line['operations'] === 'string');
  return { url: String(url), operations: String(operations) };
}

/** The last log lines of services, to find the cause of a failure. */
export function lastLines(services: readonly Pick<ServiceProcess, 'lines'>[], count = 12): string {
  return services
    .flatMap(({ lines }) => lines.slice(-count).map((line) => JSON.stringify(line).slice(0, 400)))
    .join('\n');
}

/** Kills services at the end of a test. */
export async function killAll(services: readonly ServiceProcess[]): Promise<void> {
  for (const service of services) service.kill('SIGKILL');
  await Promise.all(services.map(({ ended }) => ended));
}

/** The inherited variables of child processes: PATH and the compile cache. */
export function inheritedEnvironment(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) };
}

function parse(text: string): LogLine {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return { msg: text };
  }
}
