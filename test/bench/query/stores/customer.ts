/** Customers, with one or two addresses each. */
import { addressOf, document, fullName, phone } from './people.ts';
import { type Clock, instantAt, type StoreRecord } from './record.ts';

export function customerRecord(index: number, clock: Clock = instantAt, name = fullName(index)): StoreRecord {
  return {
    entity: 'customer',
    id: `c${index}`,
    state: {
      name,
      document: document(index),
      phone: phone(index),
      email: `cliente${index}@mail.example`,
      birth_date: `19${50 + (index % 50)}-0${1 + (index % 9)}-1${index % 10}`,
      accepts_marketing: index % 2 === 0,
      addresses: index % 4 === 0 ? [addressOf(index), addressOf(index + 1)] : [addressOf(index)],
      created_at: clock(index),
      updated_at: clock(index + 50),
    },
  };
}
