import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { anOrder } from '#test/changes.ts';
import { startBrowser, visitPage } from './browser.ts';

const service = useQueryService();
let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
  await service.setKey({ clientId: 'reader', secrets: ['s3cret'] });
  await service.apply([anOrder('o1')]);
});
afterAll(() => browser?.close());

const visit = (path: string, look: (page: Page) => Promise<void>) =>
  visitPage(browser, service.url, path, look);

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
