/**
 * The pages in a headless browser: the one in `CHROMIUM_PATH`, otherwise the one of an npm package,
 * unpacked once.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packaged, { inflate } from '@sparticuz/chromium';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { anOrder } from '#test/changes.ts';

const BIN = fileURLToPath(new URL('../bin', import.meta.resolve('@sparticuz/chromium')));

/** Starts the browser. `close` ends its process. */
async function startBrowser() {
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

const service = useQueryService();
let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
  await service.setKey({ clientId: 'reader', secrets: ['s3cret'] });
  await service.apply([anOrder('o1')]);
});
afterAll(() => browser?.close());

/**
 * Opens a page, passes it to `look`, and fails on console errors, which requests to other hosts are.
 */
async function visit(path: string, look: (page: Page) => Promise<void>) {
  const context = await browser.newContext({ baseURL: service.url });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  try {
    await page.goto(path);
    await look(page);
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

/** Fills a field of the request dialog. */
async function fill(dialog: Locator, label: string, text: string) {
  const row = dialog.locator('tr', { has: dialog.page().getByText(label, { exact: true }) });
  await row.locator('[contenteditable=true], input').fill(text);
}

describe('the reference', () => {
  it('gets a token and lists orders with it', () =>
    visit('/docs#api/tag/orders/GET/api/order/list', async (page) => {
      const operation = page.getByRole('region', { name: 'List orders' }).first();
      await operation.getByRole('button', { name: /Test Request/ }).click();
      const dialog = page.getByRole('dialog');
      await fill(dialog, 'Client ID', 'reader');
      await fill(dialog, 'Client Secret', 's3cret');
      const issued = page.waitForResponse(/\/api\/auth\/token\/$/);
      await dialog.getByRole('button', { name: 'Authorize' }).click();
      const { access_token: token } = (await (await issued).json()) as { access_token: string };
      // Requests use it only afterwards.
      await dialog
        .getByText(token.slice(-10))
        .or(dialog.getByText('Access Token'))
        .first()
        .waitFor();

      const answered = page.waitForResponse(/\/api\/order\/list/);
      // One of two is hidden, for wide or narrow screens.
      await dialog.locator('[data-addressbar-action=send]:visible').click();
      const answer = await answered;
      expect([answer.status(), new URL(answer.url()).search]).toEqual([
        200,
        '?page=1&page_size=20',
      ]);
      await dialog.getByText('"o1"').first().waitFor();
    }));

  it('finds an error by its code from any page, and shows its section in the guides', () =>
    visit('/docs/guides/paging', async (page) => {
      await page.getByRole('searchbox').fill('rate_limit');
      await page.getByRole('link', { name: 'Errors: rate_limit_exceeded' }).click();
      await page.waitForURL('**/docs/guides/errors#rate_limit_exceeded');
    }));
});
