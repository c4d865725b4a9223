/** A customer (rule R9.5). */
import { recordComponent } from './components.ts';
import { day, flag, instant, listOf, name, text, updatedAt } from './field.ts';
import { describeRecord } from './record.ts';
import { address } from './store.ts';

export const customer = describeRecord(
  {
    name: name.required(),
    document: text.optional('The CPF or CNPJ, as the store writes it.'),
    phone: text.optional(),
    email: text.optional(),
    birth_date: day.optional('A calendar date, `YYYY-MM-DD`.'),
    accepts_marketing: flag.or(false, 'Whether the customer agreed to receive campaigns.'),
    addresses: listOf(address, 50).optional(),
    created_at: instant.required(),
    updated_at: updatedAt(),
  },
  {},
);

export const Customer = recordComponent(
  'Customer',
  'A customer of the store. This is personal data: the LGPD applies to whoever stores it.',
  customer,
  'customer',
);
