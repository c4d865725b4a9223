// Makes sure that an image is there, pulling it when it is not.
import { withTimeLimit } from '#shared/time-limit.ts';
import { reasonOf } from '../errors.ts';
import type { Engine } from './engine.ts';

const PULL_LIMIT_MS = 10 * 60_000;
const REPORT_MS = 10_000;

/** Undefined when the image is there now; otherwise why it is not. */
export async function missingImage(
  engine: Engine,
  image: string,
  log: (line: string) => void,
): Promise<string | undefined> {
  const { ImageName } = await import('testcontainers');
  const name = ImageName.fromString(image);
  if (await engine.image.exists(name)) return undefined;
  const started = Date.now();
  log(`pulling the image ${image}`);
  const seconds = () => Math.round((Date.now() - started) / 1000);
  const report = setInterval(() => log(`pulling the image ${image}: ${seconds()} s`), REPORT_MS);
  const late = () => new Error(`not done after ${seconds()} s`);
  try {
    await withTimeLimit(PULL_LIMIT_MS, late, () => engine.image.pull(name));
    return undefined;
  } catch (error) {
    return `the image ${image} cannot be pulled (${reasonOf(error)})`;
  } finally {
    clearInterval(report);
  }
}
