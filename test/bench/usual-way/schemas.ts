/** The documented records as response schemas, from which Fastify makes fast serializers. */
import { readFileSync } from 'node:fs';

interface Documented {
  $ref?: string;
  type?: string | string[];
  anyOf?: Documented[];
  properties?: Record<string, Documented>;
  items?: Documented;
}
type Schema = Record<string, unknown>;

const DOCUMENT = new URL('../../../docs/openapi.json', import.meta.url);
const { components } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as {
  components: { schemas: Record<string, Documented> };
};

function documented(name: string): { type: 'object'; properties: Schema } {
  const schema = components.schemas[name];
  if (schema === undefined) throw new Error(`docs/openapi.json has no ${name}`);
  return plain(schema) as { type: 'object'; properties: Schema };
}

/** Only types: a service does not usually validate its own answers. */
function plain({ $ref, type, anyOf, properties, items }: Documented): Schema {
  if ($ref !== undefined) return documented($ref.slice('#/components/schemas/'.length));
  const [named = type, ...others] = Array.isArray(type) ? type : (anyOf ?? []);
  const schema: Schema =
    typeof named === 'object' && !Array.isArray(named) ? plain(named) : { type: named };
  if (others.length > 0) schema['nullable'] = true;
  if (items !== undefined) schema['items'] = plain(items);
  if (properties !== undefined) {
    const entries = Object.entries(properties).map(([name, property]) => [name, plain(property)]);
    schema['properties'] = Object.fromEntries(entries);
  }
  return schema;
}

export const store = documented('StoreInfo');
export const customer = documented('Customer');
export const review = documented('ReviewSummary');
export const order = documented('OrderSummary');
export const wholeOrder = documented('Order');
export const product = documented('ProductSummary');
export const wholeProduct = documented('Product');
export const menu = documented('Menu');

export function pageOf(record: Schema): Schema {
  const whole = { type: 'integer' };
  const results = { type: 'array', items: record };
  return { type: 'object', properties: { count: whole, page: whole, page_size: whole, results } };
}
