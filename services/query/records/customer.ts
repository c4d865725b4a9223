/** Customers, as lists show them (rule R9.5). */
import { Type } from 'typebox';
import { Address, exampleAddress } from './address.ts';
import { as, Flag, Id, LocalDateTime, nullable, record, Text } from './fields.ts';

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
  {
    id: 'c204',
    name: 'José Antônio da Silva',
    document: '529.982.247-25',
    phone: '+5511987654321',
    email: 'jose.silva@example.com',
    birth_date: '1988-07-14',
    accepts_marketing: true,
    addresses: [exampleAddress],
    created_at: '2025-03-09T19:41:07',
    updated_at: '2026-11-20T18:15:04',
  },
);
