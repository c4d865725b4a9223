/**
 * From TypeBox to the schemas of the document: those with a title become components, and unions that only say "or
 * null" or carry a description are written as people would.
 */
import { reference } from './objects.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type JsonObject = { readonly [name: string]: Json };

/** Collects the components while schemas are rendered. */
export class SchemaComponents {
  readonly #components = new Map<string, { rendered: JsonObject; source: string }>();

  /** A whole object of the document, with all schemas in it. */
  render(value: unknown): Json {
    return this.#render(JSON.parse(JSON.stringify(value)) as Json);
  }

  /** The components so far, by name. */
  all(): Record<string, JsonObject> {
    const sorted = [...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, { rendered }]) => [name, rendered]));
  }

  #render(value: Json): Json {
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => this.#render(item));
    if (!isObject(value)) return value;
    return isComponent(value) ? this.#component(value) : this.#plain(value);
  }

  #component(schema: JsonObject & { title: string }): JsonObject {
    const name = schema.title;
    const source = JSON.stringify(schema);
    const known = this.#components.get(name);
    if (known !== undefined && known.source !== source)
      throw new Error(`there are two schemas called ${name}`);
    if (known === undefined) {
      const { title: _title, ...rest } = schema;
      this.#components.set(name, { rendered: this.#plain(rest), source });
    }
    return { ...reference('schemas', name) };
  }

  #plain(object: JsonObject): JsonObject {
    const { anyOf, ...rest } = object;
    if (Array.isArray(anyOf)) return this.#union(anyOf as readonly Json[], rest);
    return Object.fromEntries(
      // Examples are data, not schemas.
      Object.entries(object).map(([name, member]) => [
        name,
        name === 'examples' || name === 'example' ? member : this.#render(member),
      ]),
    );
  }

  #union(alternatives: readonly Json[], about: JsonObject): JsonObject {
    const types = alternatives.filter((type) => !isNull(type));
    const hasNull = types.length < alternatives.length;
    const [only] = types;
    if (types.length !== 1 || !isObject(only ?? null)) {
      return { anyOf: alternatives.map((type) => this.#render(type)), ...about };
    }
    const type = this.#render(only ?? null) as JsonObject;
    if (!hasNull) return { ...type, ...about };
    if (typeof type['type'] === 'string' && !('enum' in type) && !('const' in type)) {
      return { ...type, type: [type['type'], 'null'], ...about };
    }
    return { anyOf: [type, { type: 'null' }], ...about };
  }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isComponent(value: JsonObject): value is JsonObject & { title: string } {
  return typeof value['title'] === 'string' && ('type' in value || 'enum' in value);
}

function isNull(value: Json): boolean {
  return isObject(value) && value['type'] === 'null';
}
