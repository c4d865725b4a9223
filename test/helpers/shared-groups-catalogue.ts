/** Catalogues of all kinds: one whose products share a group, one of large groups, and those of many small stores. */
import type { Installation } from '#test/installation.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { changesTopic } from '#shared/events/topics.ts';

export interface CatalogueRecord {
  entity: EntityName;
  id: string;
  state: object;
}

const AT = '2026-03-01T12:00:00Z';
const CHUNK = 500;
/** Bytes of one request to Kafka. */
const CHUNK_BYTES = 900_000;

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

export function category(index: number, position = index): CatalogueRecord {
  const state = { name: `Categoria ${index}`, position, active: true, created_at: AT, updated_at: AT };
  return { entity: 'category', id: `k${index}`, state };
}

export function product(index: number, categories: number, groups: string[], cents = 1_990): CatalogueRecord {
  const state = {
    category_id: `k${index % categories}`,
    name: `Produto ${index}`,
    description: 'Molho de tomate da casa, muçarela, calabresa fatiada, cebola e orégano',
    price: (cents / 100).toFixed(2),
    active: true,
    position: Math.floor(index / categories),
    image_url: `https://img.example/produtos/${index}.jpg`,
    option_group_ids: groups,
    created_at: AT,
    updated_at: AT,
  };
  return { entity: 'product', id: `p${index}`, state };
}

/** @param description of each option: it makes the group as large as it shall be. */
export function group(id: string, options: number, cents = 300, description = 'Porção de 80 g'): CatalogueRecord {
  const state = {
    name: `Grupo ${id}`,
    min: 0,
    max: 3,
    options: times(options, (index) => ({
      id: `o${index}`,
      name: `Opção ${index}`,
      description,
      price: ((cents + index) / 100).toFixed(2),
    })),
  };
  return { entity: 'option_group', id, state };
}

/** Products that each name one common group of 20 options, and two of 100 others of 10. */
export function sharedGroupCatalogue(products: number): CatalogueRecord[] {
  return [
    ...times(40, (index) => category(index)),
    group('common', 20),
    ...times(100, (index) => group(`g${index}`, 10)),
    ...times(products, (index) => product(index, 40, ['common', `g${index % 100}`, `g${(index * 7 + 1) % 100}`])),
  ];
}

/** A group of some 60 KiB. */
export function largeGroup(index: number, cents = 300): CatalogueRecord {
  return group(`large${index}`, 12, cents, 'x'.repeat(4_950));
}

/** Products that each name the same ten groups of 60 KiB. */
export function largeGroupCatalogue(products: number): CatalogueRecord[] {
  return [
    ...times(5, (index) => category(index)),
    ...times(10, (index) => largeGroup(index)),
    ...times(products, (index) =>
      product(
        index,
        5,
        times(10, (at) => `large${at}`),
      ),
    ),
  ];
}

let sequence = 0;

/** Publishes records of a store, each newer than the ones before; to a partition of its own choice if none is named. */
export async function publishRecords(
  { send, environment }: Installation,
  storeId: string,
  records: readonly CatalogueRecord[],
  partition?: number,
): Promise<void> {
  let messages: Parameters<Installation['send']>[1] = [];
  let bytes = 0;
  const flush = async () => {
    await send(changesTopic(environment), messages);
    messages = [];
    bytes = 0;
  };
  for (const { entity, id, state } of records) {
    sequence += 1;
    const encoded = encodeEvent({ entity, storeId, subject: id, sequence, data: state, source: '/bench' });
    const message = partition === undefined ? encoded : { ...encoded, partition };
    bytes += Buffer.byteLength(encoded.value ?? '');
    messages.push(message);
    if (messages.length === CHUNK || bytes > CHUNK_BYTES) await flush();
  }
  if (messages.length > 0) await flush();
}
