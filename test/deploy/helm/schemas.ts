/** Validates Kubernetes objects: an unknown field or a wrong type is an error. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Schema from 'typebox/schema';

export type Json = Record<string, unknown>;

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
}

/** Returns the errors, or null if the kind is unknown. */
export type Check = (object: KubernetesObject) => string[] | null;

const keyOf = (apiVersion: string, kind: string) => `${apiVersion}/${kind}`;

function errorsOf(schema: object, object: unknown): string[] {
  const [, errors] = Schema.Errors(schema, object);
  return errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
}

export async function checkOfVersion(folder: string, version: string): Promise<Check> {
  const { $defs } = JSON.parse(await readFile(join(folder, `${version}.json`), 'utf8')) as {
    $defs: Record<string, { 'x-kubernetes-group-version-kind'?: GroupVersionKind[] }>;
  };
  const names = new Map<string, string>();
  for (const [name, definition] of Object.entries($defs)) {
    for (const { group, version: of, kind } of definition['x-kubernetes-group-version-kind'] ??
      []) {
      names.set(keyOf(group === '' ? of : `${group}/${of}`, kind), name);
    }
  }
  return (object) => {
    const name = names.get(keyOf(object.apiVersion, object.kind));
    return name === undefined ? null : errorsOf({ $defs, $ref: `#/$defs/${name}` }, object);
  };
}

interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

export interface CustomResourceDefinition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Json } }[];
  };
}

export function checkOfDefinitions(definitions: readonly CustomResourceDefinition[]): Check {
  const schemas = new Map<string, Json>();
  for (const { spec } of definitions) {
    for (const { name, schema } of spec.versions) {
      schemas.set(
        keyOf(`${spec.group}/${name}`, spec.names.kind),
        closed(schema.openAPIV3Schema, true),
      );
    }
  }
  return (object) => {
    const schema = schemas.get(keyOf(object.apiVersion, object.kind));
    return schema === undefined ? null : errorsOf(schema, object);
  };
}

/** A schema that forbids unknown fields, like `kubectl apply --validate=strict`. */
function closed(schema: Json, isRoot = false): Json {
  const properties = schema['properties'] as Record<string, Json> | undefined;
  const items = schema['items'] as Json | undefined;
  const others = schema['additionalProperties'];
  return {
    ...schema,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            // The definition does not list the fields of `metadata`, which all kinds share.
            Object.entries(properties).map(([name, inner]) => [
              name,
              isRoot && name === 'metadata' ? inner : closed(inner),
            ]),
          ),
          ...(schema['x-kubernetes-preserve-unknown-fields'] === true
            ? {}
            : { additionalProperties: false }),
        }),
    ...(items === undefined ? {} : { items: closed(items) }),
    ...(typeof others === 'object' && others !== null
      ? { additionalProperties: closed(others as Json) }
      : {}),
  };
}
