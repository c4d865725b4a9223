/** One entity of a store that is measured, as its event carries it; and the persons in it. */
import type { EntityName, EntityStates } from '#shared/events/entities.ts';

export interface EntityRecord<E extends EntityName> {
  entity: E;
  id: string;
  state: EntityStates[E];
}
export type StoreRecord = { [E in EntityName]: EntityRecord<E> }[EntityName];

/** A whole store, in an order in which the projector has least to compose anew. */
export interface BenchStore {
  storeId: string;
  /** How many records it has. */
  size: number;
  /** It can be walked again; a large store's records are made by each walk, since millions of them would fill the memory. */
  records: Iterable<StoreRecord>;
}

const BEGIN = Date.parse('2026-01-01T12:00:00Z');
const STEP_MS = 731_417;

/** Instants that are all different, with fractions; ten thousand of them span three months. */
export function instantAt(index: number): string {
  return new Date(BEGIN + index * STEP_MS).toISOString();
}

/** Money from cents. */
export function money(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** The element at a place of a list that begins again at its end. */
export function pick<T>(list: readonly [T, ...T[]], index: number): T {
  return list[index % list.length] ?? list[0];
}

const FIRST = [
  'Ana',
  'João',
  'Maria',
  'José',
  'Antônia',
  'Lúcia',
  'Paulo',
  'Márcia',
  'Sebastião',
  'Fernanda',
  'Luís',
  'Juliana',
  'Vinícius',
  'Patrícia',
  'André',
  'Camila',
  'Débora',
  'Rafael',
  'Bruna',
  'Zélia',
] as const;
const MIDDLE = ['Aparecida', 'Carlos', 'das Graças', 'Henrique', 'Cristina', 'de Fátima', 'Eduardo'] as const;
const LAST = ['da Silva', 'Souza', 'Gonçalves', 'Conceição', 'Araújo', 'Pereira', 'Magalhães', 'Lima'] as const;
const STREETS = ['Rua das Flores', 'Avenida São João', 'Travessa da Paz', 'Rua Sete de Setembro'] as const;
const DISTRICTS = ['Centro', 'Jardim América', 'Vila Nova', 'Consolação', 'Bela Vista'] as const;

export function fullName(index: number): string {
  return `${pick(FIRST, index)} ${pick(MIDDLE, Math.floor(index / 20))} ${pick(LAST, Math.floor(index / 140))}`;
}

export function phone(index: number): string {
  return `+55 11 9${String(10_000_000 + ((index * 7_919) % 89_999_999)).replace(/(\d{4})$/, '-$1')}`;
}

export function document(index: number): string {
  const digits = String(10_000_000_000 + ((index * 104_729) % 89_999_999_999));
  return digits.replace(/(\d{3})(\d{3})(\d{3})(\d{2})/, '$1.$2.$3-$4');
}

export function addressOf(index: number) {
  return {
    street: pick(STREETS, index),
    number: String(1 + (index % 1_999)),
    complement: index % 3 === 0 ? `apto ${1 + (index % 120)}` : null,
    district: pick(DISTRICTS, index),
    city: 'São Paulo',
    state: 'SP',
    postal_code: `01${String(100 + (index % 899))}-${String(100 + (index % 899))}`,
    reference: index % 4 === 0 ? 'em frente à padaria' : null,
    latitude: -23.5 - (index % 1_000) / 10_000,
    longitude: -46.6 - (index % 1_000) / 10_000,
  };
}

export function customerRecord(index: number): StoreRecord {
  return {
    entity: 'customer',
    id: `c${index}`,
    state: {
      name: fullName(index),
      document: document(index),
      phone: phone(index),
      email: `cliente${index}@mail.example`,
      birth_date: `19${50 + (index % 50)}-0${1 + (index % 9)}-1${index % 10}`,
      accepts_marketing: index % 2 === 0,
      addresses: index % 4 === 0 ? [addressOf(index), addressOf(index + 1)] : [addressOf(index)],
      created_at: instantAt(index),
      updated_at: instantAt(index + 50),
    },
  };
}

/** @yields arrays of `size` elements; the last may be shorter. */
export function* chunksOf<T>(all: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const each of all) {
    chunk.push(each);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
