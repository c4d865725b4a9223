/** The parameters of each data endpoint, as the OpenAPI document declares them. */
import { openApi } from './documented.ts';

export interface Declared {
  name: string;
  required?: boolean;
  schema: Schema;
  example?: string | number;
  examples?: { example: { value: string | number } };
}

interface Schema {
  $ref?: string;
  enum?: readonly string[];
  items?: Schema;
  type?: string;
  pattern?: string;
  minimum?: number;
  'x-effective-maximum'?: number;
}

const DECLARED: ReadonlyMap<string, readonly Declared[]> = new Map(
  Object.entries(openApi.paths).flatMap(([path, { get }]) => {
    const { parameters = [] } = (get ?? {}) as { parameters?: Declared[] };
    return path.startsWith('/api/') && get !== undefined
      ? [[path, parameters.filter(({ name }) => name !== undefined)] as const]
      : [];
  }),
);

export const PATHS = [...DECLARED.keys()];

export const declaredFor = (path: string): readonly Declared[] => DECLARED.get(path) ?? [];

/** The words of a closed list, or of the items of one; `undefined` for any other schema. */
export function wordsOf({ $ref, items, enum: words }: Schema): readonly string[] | undefined {
  if (items !== undefined) return wordsOf(items);
  if ($ref === undefined) return words;
  return wordsOf(openApi.components['schemas']?.[$ref.split('/').at(-1) ?? ''] as Schema);
}
