/** Addresses that lie in a city, with its districts, postal codes and coordinates. */
import type { AddressState } from '#shared/events/fields.ts';
import { type Chance, happens, pick } from '../random.ts';
import type { City } from './cities.ts';

const REFERENCES = [
  'Próximo à padaria',
  'Em frente à praça',
  'Portão azul',
  'Ao lado da farmácia',
  'Esquina com a avenida',
];

/** An address in the city. */
export function address(chance: Chance, city: City): AddressState {
  const { from, to } = city.postalCodes;
  const spread = () => chance.number.float({ min: -0.04, max: 0.04 });
  return {
    street: chance.location.street(),
    number: String(chance.number.int({ min: 1, max: 2500 })),
    complement: happens(chance, 45) ? complement(chance) : null,
    district: pick(chance, city.districts),
    city: city.name,
    state: city.state,
    postal_code: `${chance.number.int({ min: from, max: to })}${chance.string.numeric(2)}-${chance.string.numeric(3)}`,
    reference: happens(chance, 25) ? pick(chance, REFERENCES) : null,
    latitude: decimals(city.latitude + spread()),
    longitude: decimals(city.longitude + spread()),
  };
}

function complement(chance: Chance): string {
  const number = chance.number.int({ min: 1, max: 20 }) * 100 + chance.number.int({ min: 1, max: 8 });
  return pick(chance, [
    `Apto. ${number}`,
    `Bloco ${pick(chance, ['A', 'B', 'C'])}, apto. ${number}`,
    'Casa 2',
    'Fundos',
  ]);
}

/** Ten metres are as close as a courier needs it. */
function decimals(degrees: number): number {
  return Math.round(degrees * 10_000) / 10_000;
}
