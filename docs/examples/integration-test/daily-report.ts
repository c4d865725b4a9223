/** What is tested: a program that asks the API what a store earned on one day. */

export interface Report {
  orders: number;
  /** In BRL, with two decimals. */
  total: string;
}

interface Page {
  count: number;
  results: { total: string }[];
}

const PAGE_SIZE = 100;

/**
 * Adds up a day's concluded orders, page by page.
 * @param day `YYYY-MM-DD`, in the store's own time.
 */
export async function dailyReport(baseUrl: string, token: string, day: string): Promise<Report> {
  let [orders, cents] = [0, 0];
  for (let page = 1; ; page += 1) {
    const query = new URLSearchParams({
      status: 'concluded',
      created_from: `${day}T00:00:00`,
      created_to: `${day}T23:59:59`,
      page: String(page),
      page_size: String(PAGE_SIZE),
    });
    const response = await fetch(`${baseUrl}/api/order/list?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (!response.ok) throw new Error(`the orders of ${day} cannot be read: ${response.status}`);
    const { count, results } = (await response.json()) as Page;
    orders += results.length;
    for (const { total } of results) cents += Number(total.replace('.', ''));
    if (page * PAGE_SIZE >= count) return { orders, total: (cents / 100).toFixed(2) };
  }
}
