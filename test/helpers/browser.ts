/** A headless browser: the one that `CHROMIUM_PATH` names, else the one that comes with an npm package, unpacked once. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packaged, { inflate } from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';

const BIN = fileURLToPath(new URL('../bin', import.meta.resolve('@sparticuz/chromium')));

/** Starts it. Closing it ends it. */
export async function startBrowser(): Promise<Browser> {
  const given = process.env['CHROMIUM_PATH'];
  if (given !== undefined) return chromium.launch({ executablePath: given, args: ['--no-sandbox'] });
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('the packaged browser is for Linux on x64: set CHROMIUM_PATH to a Chromium');
  }
  // Its libraries come along, as a server has none of them.
  const [executablePath] = await Promise.all([
    packaged.executablePath(),
    inflate(join(BIN, 'al2023.tar.br')),
  ]);
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    env: { ...process.env, LD_LIBRARY_PATH: join(tmpdir(), 'al2023', 'lib') },
  });
}
