/** The objects of an OpenAPI 3.1 document, as far as ours has them. */
import type { TSchema } from 'typebox';

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

export interface Reference {
  $ref: string;
}

export interface HeaderObject {
  description: string;
  required: boolean;
  schema: TSchema;
  example: string | number;
}

export interface ParameterObject {
  name: string;
  in: 'query' | 'header';
  description: string;
  required?: true;
  deprecated?: true;
  explode?: true;
  schema: TSchema;
  example?: string | number;
  examples?: Record<string, { value: string | number; 'x-disabled': true }>;
}

export interface MediaType {
  schema: TSchema;
  example?: unknown;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface LinkObject {
  description: string;
  operationId: string;
  parameters: Record<string, string>;
}

export interface ResponseObject {
  description: string;
  headers: Record<string, HeaderObject | Reference>;
  content?: Record<string, MediaType>;
  links?: Record<string, LinkObject>;
}

export interface OperationObject {
  operationId: string;
  tags: [Tag];
  summary: string;
  description: string;
  deprecated?: true;
  security: Record<string, readonly string[]>[];
  parameters: (ParameterObject | Reference)[];
  requestBody?: { description: string; required: true; content: Record<string, MediaType> };
  /** By status. */
  responses: Record<string, ResponseObject | Reference>;
}

/** The example of a parameter that may be left out: pages with which requests are tried do not send it unasked. */
export function optionalExample(value: string | number): Required<Pick<ParameterObject, 'examples'>> {
  return { examples: { example: { value, 'x-disabled': true } } };
}

/** A reference to a component. */
export function reference(kind: 'responses' | 'headers' | 'parameters' | 'schemas', name: string): Reference {
  return { $ref: `#/components/${kind}/${name}` };
}
