/** The store's own record. */
import { WEEKDAYS } from '#shared/events/entities.ts';
import { addressOf, instantAt, type StoreRecord } from './record.ts';

export function storeRecord(storeId: string): StoreRecord {
  return {
    entity: 'store',
    id: storeId,
    state: {
      name: 'Pizzaria Bela Vista',
      legal_name: 'Bela Vista Comércio de Alimentos Ltda.',
      document: '12.345.678/0001-95',
      phone: '+55 11 3333-4444',
      email: 'contato@belavista.example',
      status: 'active',
      timezone_offset: '-04:00',
      currency: 'BRL',
      order_types: ['delivery', 'takeout', 'indoor'],
      minimum_order_value: '25.00',
      address: addressOf(1),
      opening_hours: WEEKDAYS.map((weekday) => ({ weekday, opens: '18:00', closes: '23:30' })),
      created_at: instantAt(0),
      updated_at: instantAt(1),
    },
  };
}
