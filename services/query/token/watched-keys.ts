/**
 * The signing keys of a running service: those of a file are read again and again, so that they rotate without a
 * restart. The content is compared, not the file's dates: a file renamed over it, and the swapped links with which
 * Kubernetes brings a new secret, are seen alike.
 */
import { Gauge, type Registry } from 'prom-client';
import { importKeys, loadSigningKeys, readKeyFile, type SigningKeys } from './signing-keys.ts';
import type { Config } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';

/** A key signs long after every service has seen it: `MIN_ACTIVATION_MS` in the command that makes it. */
const RELOAD_MS = 1_000;

export interface WatchedKeys extends SigningKeys {
  /** Whether what the file holds is in use; false while it is broken, and the former keys go on. */
  readonly isCurrent: boolean;
  stop: () => Promise<void>;
}

/** Loads the keys, and follows their file. @throws {StoreDataError} `config_invalid` when there are none to begin with. */
export async function watchSigningKeys(
  settings: Config['tokens'],
  logger: Logger,
  intervalMs = RELOAD_MS,
): Promise<WatchedKeys> {
  const file = settings.signingKeysFile;
  let text = file === null ? null : await readKeyFile(file);
  let keys = text === null ? await loadSigningKeys(settings) : await importKeys(text, 'SIGNING_KEYS_FILE');
  let failure: { description: string; logged: boolean } | null = null;

  const reload = async (path: string, stopped: AbortSignal) => {
    try {
      const found = await readKeyFile(path);
      if (found === text && failure === null) return;
      if (found !== text) keys = await importKeys(found, 'SIGNING_KEYS_FILE');
      text = found;
      failure = null;
      logger.info({ kids: [...keys.verifying.keys()], signs: keys.signing.kid }, 'signing keys read again');
    } catch (error) {
      const description = describeError(error);
      // Seen twice, since a file may be read while it is written; and logged once for each failure.
      if (failure?.description !== description) failure = { description, logged: false };
      else if (!failure.logged && !stopped.aborted) {
        failure.logged = true;
        logger.error({ error: description }, 'signing keys cannot be read again, the former ones go on');
      }
    }
  };
  const reloading =
    file === null
      ? null
      : new PeriodicTask(
          { run: (stopped) => reload(file, stopped), everyMs: intervalMs, failed: () => undefined },
          intervalMs,
        );

  return {
    get signing() {
      return keys.signing;
    },
    get verifying() {
      return keys.verifying;
    },
    get isCurrent() {
      return failure === null;
    },
    stop: async () => reloading?.stop(),
  };
}

/** Shows in the metrics whether the file's keys are in use. */
export function measureSigningKeys(registry: Registry, keys: WatchedKeys): void {
  const gauge = new Gauge({
    name: 'store_data_signing_keys_current',
    help: '1 while the signing keys in use are those of their file, 0 while it is broken',
    registers: [],
    collect() {
      this.set(keys.isCurrent ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}
