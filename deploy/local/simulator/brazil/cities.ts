/** Cities in which stores deliver (`data/cities.yaml`). */
import { Type } from 'typebox';
import { readData } from '../data/read.ts';

const City = Type.Object({
  name: Type.String(),
  state: Type.String(),
  /** The telephone area (DDD). */
  area: Type.String(),
  /** The first three digits of its postal codes (CEP) begin in this range. */
  postalCodes: Type.Object({ from: Type.Integer(), to: Type.Integer() }),
  latitude: Type.Number(),
  longitude: Type.Number(),
  timezoneOffset: Type.String(),
  districts: Type.Array(Type.String()),
});
export type City = Type.Static<typeof City>;

const { minas, campoGrande } = readData(
  'cities',
  Type.Object({ minas: Type.Array(City), campoGrande: City }),
);

/** The city of the n-th store (from 0): every fifth store lies in the other time zone. */
export function cityOf(index: number): City {
  const city = minas[(index - Math.floor(index / 5)) % minas.length];
  return index % 5 === 4 || city === undefined ? campoGrande : city;
}
