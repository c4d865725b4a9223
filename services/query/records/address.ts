/** Addresses: of stores, customers and deliveries (rule R9.15). */
import { Type } from 'typebox';
import { nullable, part, Text } from './fields.ts';

export const Address = part(
  'Address',
  'A postal address in Brazil; each field is `null` where it is not known.',
  {
    street: nullable(Text),
    number: nullable(Text),
    complement: nullable(Text),
    district: nullable(Text, 'The neighbourhood (bairro).'),
    city: nullable(Text),
    state: nullable(Text, 'As the store writes it, usually the two letters of the state.'),
    postal_code: nullable(Text, 'The CEP, as the store writes it.'),
    reference: nullable(Text, 'A landmark for the courier.'),
    latitude: nullable(Type.Number()),
    longitude: nullable(Type.Number()),
  },
);
