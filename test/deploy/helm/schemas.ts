/** Validates Kubernetes objects: an unknown field or a wrong type is an error. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Schema from 'typebox/schema';

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
}

/** Returns the errors, or null if the kind is unknown. */
export type Check = (object: KubernetesObject) => string[] | null;

const keyOf = (apiVersion: string, kind: string) => `${apiVersion}/${kind}`;

/** The checks of kinds by their schemas. */
function checkOf(schemas: ReadonlyMap<string, object>): Check {
  return (object) => {
    const schema = schemas.get(keyOf(object.apiVersion, object.kind));
    if (schema === undefined) return null;
    const [, errors] = Schema.Errors(schema, object);
    return errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}

interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

export async function checkOfVersion(folder: string, version: string): Promise<Check> {
  const { $defs } = JSON.parse(await readFile(join(folder, `${version}.json`), 'utf8')) as {
    $defs: Record<string, { 'x-kubernetes-group-version-kind'?: GroupVersionKind[] }>;
  };
  const schemas = new Map<string, object>();
  for (const [name, definition] of Object.entries($defs)) {
    for (const { group, version: of, kind } of definition['x-kubernetes-group-version-kind'] ??
      []) {
      const apiVersion = group === '' ? of : `${group}/${of}`;
      schemas.set(keyOf(apiVersion, kind), { $defs, $ref: `#/$defs/${name}` });
    }
  }
  return checkOf(schemas);
}

export interface CustomResourceDefinition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: object } }[];
  };
}

export function checkOfDefinitions(definitions: readonly CustomResourceDefinition[]): Check {
  const schemas = definitions.flatMap(({ spec: { group, names, versions } }) =>
    versions.map(
      ({ name, schema }) =>
        [keyOf(`${group}/${name}`, names.kind), closed(schema.openAPIV3Schema) as object] as const,
    ),
  );
  return checkOf(new Map(schemas));
}

/** A schema that forbids unknown fields, like `kubectl apply --validate=strict`. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, closed(value)]),
  );
  const isOpen = !('properties' in inner) || inner['x-kubernetes-preserve-unknown-fields'] === true;
  return isOpen ? inner : { ...inner, additionalProperties: false };
}
