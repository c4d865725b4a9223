/** Catalogues whose products share option groups. */
import type { Installation } from '#test/installation.ts';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import { encodeEvent, changesTopic } from '#shared/events/topics.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { MINIMAL } from './changes.ts';

export interface CatalogueRecord {
  entity: EntityName;
  id: string;
  state: object;
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function category(index: number): CatalogueRecord {
  return { entity: 'category', id: `k${index}`, state: { ...MINIMAL.category, position: index } };
}

function product(index: number, categories: number, groups: string[]): CatalogueRecord {
  const place = { category_id: `k${index % categories}`, position: Math.floor(index / categories) };
  const state = { ...exampleEvent('product').data, ...place, option_group_ids: groups };
  return { entity: 'product', id: `p${index}`, state };
}

/** @param description of each option, which determines the size of the group. */
export function group(
  id: string,
  options: number,
  cents = 300,
  description = 'Porção de 80 g',
): CatalogueRecord {
  const option = (index: number) => {
    return {
      id: `o${index}`,
      name: `Opção ${index}`,
      description,
      price: ((cents + index) / 100).toFixed(2),
    };
  };
  return {
    entity: 'option_group',
    id,
    state: { ...MINIMAL.option_group, options: times(options, option) },
  };
}

/** Products that share one group of 20 options, and each have two of 100 groups of 10 options. */
export function sharedGroupCatalogue(products: number): CatalogueRecord[] {
  return [
    ...times(40, category),
    group('common', 20),
    ...times(100, (index) => group(`g${index}`, 10)),
    ...times(products, (index) =>
      product(index, 40, ['common', `g${index % 100}`, `g${(index * 7 + 1) % 100}`]),
    ),
  ];
}

/** A group of about 60 KiB. */
export function largeGroup(index: number, cents = 300): CatalogueRecord {
  return group(`large${index}`, 12, cents, 'x'.repeat(4_950));
}

/** Products that share ten groups of 60 KiB. */
export function largeGroupCatalogue(products: number): CatalogueRecord[] {
  const groups = times(10, (index) => largeGroup(index));
  const ids = groups.map(({ id }) => id);
  return [...times(5, category), ...groups, ...times(products, (index) => product(index, 5, ids))];
}

let sequence = 0;

/** Publishes records of a store to a partition, with increasing sequences. */
export function publishRecords(
  { send, environment }: Installation,
  storeId: string,
  records: readonly CatalogueRecord[],
  partition: number,
): Promise<void> {
  const messages = records.map(({ entity, id, state }) => {
    sequence += 1;
    const encoded = encodeEvent({
      entity,
      storeId,
      subject: id,
      sequence,
      data: state,
      source: '/test',
    });
    return { ...encoded, partition };
  });
  return send(changesTopic(environment), messages);
}
