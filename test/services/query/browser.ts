/**
 * A headless browser: the one in `CHROMIUM_PATH`, otherwise the one of an npm package, unpacked
 * once.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packaged, { inflate } from '@sparticuz/chromium';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const BIN = fileURLToPath(new URL('../bin', import.meta.resolve('@sparticuz/chromium')));

/** Starts the browser. `close` ends its process. */
export async function startBrowser(): Promise<Browser> {
  const given = process.env['CHROMIUM_PATH'];
  if (given !== undefined)
    return chromium.launch({ executablePath: given, args: ['--no-sandbox'] });
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('the packaged browser is for Linux on x64: set CHROMIUM_PATH to a Chromium');
  }
  // The package brings libraries that servers lack.
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

const TIMEOUT_MS = 120_000;

/**
 * Opens a page, passes it to `look`, and fails on console errors and on requests to other hosts.
 */
export async function visitPage(
  browser: Browser,
  baseURL: string,
  path: string,
  look: (page: Page) => Promise<void>,
) {
  const context = await browser.newContext({ baseURL });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (['http:', 'https:'].includes(url.protocol) && url.origin !== baseURL)
      complaints.push(url.href);
  });
  try {
    await page.goto(path);
    await look(page);
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}
