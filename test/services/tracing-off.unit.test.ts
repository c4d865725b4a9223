/** Without a collector no tracing module is loaded. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/**
 * Prints every module that a service loads. The metrics library includes only OpenTelemetry's API,
 * which does nothing.
 */
const PROGRAM = `
  import { registerHooks } from 'node:module';
  const urls = [];
  registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
  const { startTracing } = await import('./shared/tracing.ts');
  const { readConfig } = await import('./shared/config.ts');
  const { createLogger } = await import('./shared/logging.ts');
  await import('./services/query/app.ts');
  await import('./services/projector/projector.ts');
  const logger = createLogger('test', 'silent');
  await startTracing(readConfig(process.env), 'test', logger);
  console.log(JSON.stringify(urls));
`;

async function loaded(env: Record<string, string>): Promise<string[]> {
  const servers = { KAFKA_BROKERS: 'k:9092', MONGODB_URI: 'mongodb://m', REDIS_URL: 'redis://r' };
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { PATH: process.env['PATH'] ?? '', ...servers, ...env },
    maxBuffer: 16 * 1_048_576,
  });
  return (JSON.parse(stdout) as string[]).filter((url) =>
    /@opentelemetry\/(?!api\/)|shared\/tracing\//.test(url),
  );
}

it('loads OpenTelemetry only if an address is set, except the metrics library’s API', async () => {
  expect(await loaded({})).toEqual([]);
  const withAddress = await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' });
  expect(withAddress.some((url) => url.includes('@opentelemetry/sdk-trace/'))).toBe(true);
});
