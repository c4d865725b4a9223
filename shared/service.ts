/**
 * Runs a service as a process, from its environment variables to its end: in order at a signal,
 * else with a fatal line.
 */
import closeWithGrace from 'close-with-grace';
import { type Config, settingWarnings, readConfig, readLogFormat } from './config.ts';
import { describeError, StoreDataError } from './errors.ts';
import { createLogger, type Logger } from './logging.ts';

export interface ServiceProcess {
  config: Config;
  logger: Logger;
  closing: (() => Promise<void>)[];
  /** Why it ends; `null` while it runs. */
  ends: () => 'signal' | 'failure' | null;
}

export interface ServiceOptions {
  service: 'projector' | 'query';
  /** Its name in log lines. */
  title: string;
  endMs: (config: Config) => number;
  start: (process: ServiceProcess) => Promise<void>;
}

export async function runService({ service, title, endMs, start }: ServiceOptions): Promise<void> {
  let logger: Logger | null = null;
  try {
    const config = readConfig(process.env);
    logger = createLogger(service, config.logLevel, undefined, config.logFormat);
    const closing: (() => Promise<void>)[] = [];
    const ends = endInOrder(logger, title, endMs(config), closing);
    for (const line of settingWarnings(process.env)) logger.warn(line);
    await start({ config, logger, closing, ends });
  } catch (error) {
    const isOurs = error instanceof StoreDataError;
    // The invalid setting may be the log level itself.
    logger ??= createLogger(service, 'fatal', undefined, readLogFormat(process.env));
    logger.fatal(
      isOurs ? { code: error.code } : { err: error },
      `the ${title} ends: ${isOurs ? error.message : describeError(error)}`,
    );
    process.exit(1);
  }
}

/**
 * Ends the process on signals and unhandled failures. Called first: PID 1 of a container ignores
 * signals without a handler.
 */
function endInOrder(
  logger: Logger,
  title: string,
  delay: number,
  closing: ServiceProcess['closing'],
) {
  let end: ReturnType<ServiceProcess['ends']> = null;
  const failed = (err: unknown) => logger.fatal({ err }, `the ${title} failed`);
  closeWithGrace(
    {
      delay,
      logger,
      onSecondError: failed,
      onTimeout: (ms) => logger.fatal({ ms }, `the ${title} did not end in time`),
    },
    async ({ err, signal }) => {
      end = err === undefined ? 'signal' : 'failure';
      if (err === undefined) logger.info({ signal }, `the ${title} stops`);
      else failed(err);
      try {
        for (const close of closing) await close();
      } catch (error) {
        failed(error);
        process.exit(1);
      }
    },
  );
  return () => end;
}
