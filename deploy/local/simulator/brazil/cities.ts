/** Cities in which stores deliver: their telephone area, postal codes, place on the map and districts. */

export interface City {
  name: string;
  state: string;
  /** The telephone area (DDD). */
  area: string;
  /** The first three digits of its postal codes (CEP) begin in this range. */
  postalCodes: { from: number; to: number };
  latitude: number;
  longitude: number;
  timezoneOffset: string;
  districts: readonly string[];
}

/** Cities of Minas Gerais. */
const MINAS: readonly City[] = [
  {
    name: 'Belo Horizonte',
    state: 'MG',
    area: '31',
    postalCodes: { from: 300, to: 319 },
    latitude: -19.9191,
    longitude: -43.9386,
    timezoneOffset: '-03:00',
    districts: ['Savassi', 'Funcionários', 'Lourdes', 'Santa Tereza', 'Pampulha', 'Buritis', 'Sion'],
  },
  {
    name: 'Contagem',
    state: 'MG',
    area: '31',
    postalCodes: { from: 320, to: 323 },
    latitude: -19.9317,
    longitude: -44.0536,
    timezoneOffset: '-03:00',
    districts: ['Eldorado', 'Inconfidentes', 'Riacho das Pedras', 'Amazonas', 'Água Branca'],
  },
  {
    name: 'Uberlândia',
    state: 'MG',
    area: '34',
    postalCodes: { from: 384, to: 384 },
    latitude: -18.9186,
    longitude: -48.2772,
    timezoneOffset: '-03:00',
    districts: ['Santa Mônica', 'Fundinho', 'Tibery', 'Martins', 'Saraiva', 'Jardim Karaíba'],
  },
  {
    name: 'Juiz de Fora',
    state: 'MG',
    area: '32',
    postalCodes: { from: 360, to: 360 },
    latitude: -21.7642,
    longitude: -43.3496,
    timezoneOffset: '-03:00',
    districts: ['São Mateus', 'Cascatinha', 'Bom Pastor', 'Benfica', 'Granbery'],
  },
];

/** One hour behind the others. */
const CAMPO_GRANDE: City = {
  name: 'Campo Grande',
  state: 'MS',
  area: '67',
  postalCodes: { from: 790, to: 791 },
  latitude: -20.4697,
  longitude: -54.6201,
  timezoneOffset: '-04:00',
  districts: ['Jardim dos Estados', 'Centro', 'Tiradentes', 'Vila Planalto', 'Chácara Cachoeira'],
};

/** The city of the n-th store (from 0): every fifth store lies in the other time zone. */
export function cityOf(index: number): City {
  const city = MINAS[(index - Math.floor(index / 5)) % MINAS.length];
  return index % 5 === 4 || city === undefined ? CAMPO_GRANDE : city;
}
