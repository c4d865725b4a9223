/**
 * Records that name a customer whose erasure is under way, answered without what they say of them. Only where a store's stamp says
 * that it has such erasures, its records are read together with them, in the same snapshot: `View.masks`.
 */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import { ERASURES } from '#shared/read-models/collections.ts';
import { NAMING_CUSTOMERS, withoutCustomer } from '#shared/read-models/erasures.ts';

/** Whether records of a kind may name customers. */
export function namesCustomers(entity: EntityName): boolean {
  return NAMING_CUSTOMERS.some((naming) => naming === entity);
}

/** The stages that leave what a projection shows, and say in `erased` whether the customer is being erased. */
export function maskedFields(shown: Document): Document[] {
  return [
    {
      $project: {
        ...shown,
        feed_position: 1,
        customer: { $concat: ['$store_id', '/', '$customer_id'] },
      },
    },
    { $lookup: { from: ERASURES, localField: 'customer', foreignField: '_id', as: 'erasures' } },
    // Where there are none their maximum is `null`, which is less than any position.
    { $project: { ...shown, erased: { $lte: ['$feed_position', { $max: '$erasures.position' }] } } },
  ];
}

/** A body as it may be shown. */
export function masked(body: string, erased: boolean | undefined): string {
  return erased === true ? withoutCustomer(body) : body;
}
