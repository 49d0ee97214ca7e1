// The schemas that defineResource takes, and the static types that they describe: structural schemas as objects, and the schemas of
// libraries. structural-schema.ts turns all of them into the schema that a definition holds.

/** A structural OpenAPI v3 schema as in custom resource definitions; the server checks it when it is installed. */
export interface ObjectSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly properties?: Readonly<Record<string, ObjectSchema>>;
  readonly required?: readonly string[];
  readonly items?: ObjectSchema;
  readonly additionalProperties?: ObjectSchema | boolean;
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  /** Formats, limits, defaults, x-kubernetes-… . */
  readonly [keyword: string]: unknown;
}

/**
 * A schema of a library that implements Standard JSON Schema, such as zod 4 or ArkType, or valibot through `toStandardJsonSchema` of
 * `@valibot/to-json-schema`. Source: https://standardschema.dev.
 */
interface StandardJsonSchema<Input = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: unknown } | undefined;
    readonly jsonSchema: { readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown> };
  };
}

/** A schema of TypeBox 1, which is JSON Schema; interfaces of its properties lack the index of {@link ObjectSchema}. */
interface TypeBoxSchema {
  readonly '~kind': string;
}

/** A schema of `@sinclair/typebox`, which carries its type. */
interface OlderTypeBoxSchema {
  readonly static: unknown;
  readonly params: unknown[];
}

/** Any schema that defineResource takes. */
export type AnySchema = ObjectSchema | StandardJsonSchema | TypeBoxSchema | OlderTypeBoxSchema;

/**
 * The type of the values that a schema describes. Properties that are not `required` are optional, even those with a
 * default.
 */
export type SchemaType<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : unknown
  : S extends OlderTypeBoxSchema
    ? S['static']
    : S extends { readonly nullable: true }
      ? SchemaValue<S> | null
      : SchemaValue<S>;

type SchemaValue<S> = S extends { readonly 'x-kubernetes-int-or-string': true }
  ? number | string
  : S extends { readonly const: infer C }
    ? C
    : S extends { readonly enum: readonly (infer E)[] }
      ? E
      : S extends { readonly type: infer N extends keyof PlainTypes }
        ? PlainTypes[N]
        : S extends { readonly items: infer I }
          ? SchemaType<I>[]
          : S extends { readonly properties: infer P }
            ? Properties<P, S extends { readonly required: readonly (infer R)[] } ? R : never>
            : SchemaOfOthers<S>;

type SchemaOfOthers<S> = S extends { readonly additionalProperties: infer A extends ObjectSchema }
  ? Record<string, SchemaType<A>>
  : S extends { readonly '~kind': 'Record'; readonly patternProperties: infer P }
    ? Record<string, SchemaType<P[keyof P]>>
    : S extends { readonly type: 'object' }
      ? Record<string, unknown>
      : S extends { readonly anyOf: readonly (infer A)[] }
        ? SchemaType<A>
        : unknown;

interface PlainTypes {
  readonly string: string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
  readonly null: null;
}

type Properties<P, R> = { [K in keyof P & R]: SchemaType<P[K]> } & { [K in Exclude<keyof P, R>]?: SchemaType<P[K]> };
