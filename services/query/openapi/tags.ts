/** The groups of endpoints, in the order in which the document shows them. */

export const TAGS = {
  Access: 'Tokens: short-lived, from the credentials of an API key.',
  Store: 'The store itself: its names, address, opening hours and time zone.',
  Coupons: 'Coupons of the store, active or not.',
  Customers: 'Customers and their orders.',
  Reviews: 'What customers wrote about their orders.',
  Campaigns: 'Messages to customers, and what came of them.',
  Orders: 'Orders, from their placing to their end.',
  Menu: 'All that the store sells now, in one answer.',
  Categories: 'The categories of the menu.',
  Products: 'Products, active or not, with their option groups.',
  'Option groups': 'The choices that go with products, such as flavours and extras.',
  Service: 'About the service itself; without a token.',
} as const;

export type Tag = keyof typeof TAGS;
