/** Names, addresses and numbers of people. */
import { pick } from './record.ts';

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
const LAST = [
  'da Silva',
  'Souza',
  'Gonçalves',
  'Conceição',
  'Araújo',
  'Pereira',
  'Magalhães',
  'Lima',
] as const;
const STREETS = ['Rua das Flores', 'Avenida São João', 'Travessa da Paz', 'Rua Sete de Setembro'] as const;
const DISTRICTS = ['Centro', 'Jardim América', 'Vila Nova', 'Consolação', 'Bela Vista'] as const;

export function fullName(index: number): string {
  return `${pick(FIRST, index)} ${pick(MIDDLE, Math.floor(index / 20))} ${pick(LAST, Math.floor(index / 140))}`;
}

/** Names of hundreds of thousands of people: two surnames, spread over all first names, so that no name leads to its holder. */
export function fullNameAmongMany(index: number): string {
  const spread = Math.imul(index, 2_654_435_761) >>> 0;
  const surnames = `${pick(LAST, Math.floor(spread / 140))} ${pick(LAST, Math.floor(spread / 1_120))}`;
  return `${pick(FIRST, spread)} ${pick(MIDDLE, Math.floor(spread / 20))} ${surnames}`;
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
