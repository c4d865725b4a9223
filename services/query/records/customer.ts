/** Customers, as lists show them (rule R9.5). */
import { Type } from 'typebox';
import examples from './examples.json' with { type: 'json' };
import { Address, as, Flag, Id, LocalDateTime, nullable, record, Text } from './fields.ts';

const BirthDate = Type.String({ format: 'date' });

export const Customer = record(
  'Customer',
  'A customer of the store. This is personal data: the LGPD applies to whoever stores it.',
  {
    id: Id,
    name: Text,
    document: nullable(Text, 'The CPF or CNPJ, as the store writes it.'),
    phone: nullable(Text),
    email: nullable(Text),
    birth_date: nullable(BirthDate, 'A calendar date, `YYYY-MM-DD`.'),
    accepts_marketing: as(Flag, 'Whether the customer agreed to be sent campaigns.'),
    addresses: Type.Array(Address),
    created_at: LocalDateTime,
    updated_at: LocalDateTime,
  },
  examples.customer,
);
