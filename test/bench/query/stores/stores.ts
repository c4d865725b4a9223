/** The stores that are measured: one with as many records of each kind as asked for, and two with a menu. */
import { campaignRecord, couponRecord, reviewRecord } from './marketing.ts';
import { categoryRecord, optionGroupRecord, productRecord } from './catalog.ts';
import { customerRecord } from './customer.ts';
import { orderRecord } from './order.ts';
import type { BenchStore, StoreRecord } from './record.ts';
import { storeRecord } from './store.ts';

/** The store of the lists and details. */
export const RECORDS_STORE = 'records';
/** A store with the menu of a small shop, and one with the menu of a market. */
export const SMALL_MENU_STORE = 'small-menu';
export const LARGE_MENU_STORE = 'large-menu';

/** Categories that have products; more products each than a page shows. */
const FILLED_CATEGORIES = 100;
const MENU_PRODUCTS = { [SMALL_MENU_STORE]: 200, [LARGE_MENU_STORE]: 2_000 };
const PRODUCTS_A_CATEGORY = 25;

function times(count: number, make: (index: number) => StoreRecord): StoreRecord[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

export function makeStores(records: number): BenchStore[] {
  return [
    storeOf(RECORDS_STORE, [
      storeRecord(RECORDS_STORE),
      ...times(records, categoryRecord),
      ...times(records, optionGroupRecord),
      ...times(records, (index) => productRecord(index, Math.min(FILLED_CATEGORIES, records), records)),
      ...times(records, customerRecord),
      ...times(records, (index) => orderRecord(index, records)),
      ...times(records, couponRecord),
      ...times(records, campaignRecord),
      ...times(records, (index) => reviewRecord(index, records)),
    ]),
    ...Object.entries(MENU_PRODUCTS).map(([storeId, products]) => menuStore(storeId, products)),
  ];
}

function menuStore(storeId: string, products: number): BenchStore {
  const categories = products / PRODUCTS_A_CATEGORY;
  const groups = products / 10;
  return storeOf(storeId, [
    storeRecord(storeId),
    ...times(categories, categoryRecord),
    ...times(groups, optionGroupRecord),
    ...times(products, (index) => productRecord(index, categories, groups)),
  ]);
}

function storeOf(storeId: string, records: StoreRecord[]): BenchStore {
  return { storeId, size: records.length, records, changes: [] };
}
