// Tests defineResource with the schemas of real libraries: the contents of their definitions, and the types of their
// objects.
import { Type as OlderType } from '@sinclair/typebox';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { Type } from 'typebox';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineResource } from './define-resource.ts';
import type { AnySchema } from './object-schema.ts';
import type { ObjectOf } from './resource.ts';

const names = { group: 'demo.dev', version: 'v1', kind: 'Echo' } as const;

/** Returns the schema of `spec` in the definition. */
function specOf(spec: AnySchema): unknown {
  const { definition } = defineResource({ ...names, spec });
  const { versions } = (definition as unknown as { spec: { versions: Version[] } }).spec;
  return versions[0]?.schema.openAPIV3Schema.properties.spec;
}

interface Version {
  readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: unknown } } };
}

const expected = {
  type: 'object',
  properties: {
    text: { type: 'string', maxLength: 10 },
    mode: { type: 'string', enum: ['loud', 'quiet'] },
    maybe: { type: 'string', nullable: true },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    parts: { type: 'array', items: { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'] } },
  },
  required: ['text', 'maybe', 'labels', 'parts'],
};

interface Expected {
  text: string;
  mode?: 'loud' | 'quiet' | undefined;
  maybe: string | null;
  labels: Record<string, string>;
  parts: { on: boolean }[];
}

describe('schemas of libraries', () => {
  it('of zod 4 become structural', () => {
    const spec = z.object({
      text: z.string().max(10),
      mode: z.enum(['loud', 'quiet']).optional(),
      maybe: z.string().nullable(),
      labels: z.record(z.string(), z.string()),
      parts: z.array(z.object({ on: z.boolean() })),
    });
    expect(specOf(spec)).toEqual(expected);
    const Echo = defineResource({ ...names, spec });
    expectTypeOf<ObjectOf<typeof Echo>['spec']>().toEqualTypeOf<Expected>();
  });

  it('of valibot become structural through its Standard JSON Schema', () => {
    const spec = v.object({
      text: v.pipe(v.string(), v.maxLength(10)),
      mode: v.optional(v.picklist(['loud', 'quiet'])),
      maybe: v.nullable(v.string()),
      labels: v.record(v.string(), v.string()),
      parts: v.array(v.object({ on: v.boolean() })),
    });
    const standard = toStandardJsonSchema(spec);
    expect(specOf(standard)).toEqual(expected);
    const Echo = defineResource({ ...names, spec: standard });
    expectTypeOf<ObjectOf<typeof Echo>['spec']['text']>().toEqualTypeOf<string>();
    expectTypeOf<ObjectOf<typeof Echo>['spec']['mode']>().toEqualTypeOf<'loud' | 'quiet' | undefined>();
    expect(() => specOf(spec as unknown as AnySchema)).toThrow(
      'the schema of .spec is of valibot and has no JSON Schema: use toStandardJsonSchema of @valibot/to-json-schema',
    );
  });

  it('of TypeBox 1 become structural', () => {
    const spec = Type.Object({
      text: Type.String({ maxLength: 10 }),
      mode: Type.Optional(Type.Union([Type.Literal('loud'), Type.Literal('quiet')])),
      maybe: Type.Union([Type.String(), Type.Null()]),
      labels: Type.Record(Type.String(), Type.String()),
      parts: Type.Array(Type.Object({ on: Type.Boolean() })),
    });
    expect(specOf(spec)).toEqual(expected);
    const Echo = defineResource({ ...names, spec });
    type Spec = ObjectOf<typeof Echo>['spec'];
    expectTypeOf<Spec['text']>().toEqualTypeOf<string>();
    expectTypeOf<Spec['mode']>().toEqualTypeOf<'loud' | 'quiet' | undefined>();
    expectTypeOf<Spec['maybe']>().toEqualTypeOf<string | null>();
    expectTypeOf<Spec['labels']>().toEqualTypeOf<Record<string, string>>();
    expectTypeOf<Spec['parts'][number]['on']>().toEqualTypeOf<boolean>();
  });

  it('of TypeBox 0.34 become structural', () => {
    const spec = OlderType.Object({
      text: OlderType.String({ maxLength: 10 }),
      mode: OlderType.Optional(OlderType.Union([OlderType.Literal('loud'), OlderType.Literal('quiet')])),
      maybe: OlderType.Union([OlderType.String(), OlderType.Null()]),
      labels: OlderType.Record(OlderType.String(), OlderType.String()),
      parts: OlderType.Array(OlderType.Object({ on: OlderType.Boolean() })),
    });
    expect(specOf(spec)).toEqual(expected);
    const Echo = defineResource({ ...names, spec });
    expectTypeOf<ObjectOf<typeof Echo>['spec']['mode']>().toEqualTypeOf<'loud' | 'quiet' | undefined>();
    expectTypeOf<ObjectOf<typeof Echo>['spec']['text']>().toEqualTypeOf<string>();
  });
});

describe('JSON Schema of zod', () => {
  it('has the types of a union once, and its limits inside', () => {
    const union = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('file'), path: z.string().min(1) }),
      z.object({ kind: z.literal('url'), url: z.string(), retries: z.int().min(0).max(9) }),
    ]);
    expect(specOf(z.object({ from: union }))).toEqual({
      type: 'object',
      properties: {
        from: {
          type: 'object',
          properties: {
            kind: { type: 'string', enum: ['file', 'url'] },
            path: { type: 'string', minLength: 1 },
            url: { type: 'string' },
            retries: { type: 'integer', minimum: 0, maximum: 9 },
          },
          required: ['kind'],
          oneOf: [
            { properties: { kind: { enum: ['file'] }, path: { minLength: 1 } }, required: ['kind', 'path'] },
            {
              properties: { kind: { enum: ['url'] }, retries: { minimum: 0, maximum: 9 } },
              required: ['kind', 'url', 'retries'],
            },
          ],
        },
      },
      required: ['from'],
    });
  });

  it.each([
    ['integers or strings', z.union([z.int(), z.string()]), { 'x-kubernetes-int-or-string': true }],
    ['null among values', z.enum(['a']).nullable(), { type: 'string', enum: ['a', null], nullable: true }],
    ['numbers above a limit', z.number().gt(3), { type: 'number', minimum: 3, exclusiveMinimum: true }],
    ['anything', z.unknown(), { 'x-kubernetes-preserve-unknown-fields': true }],
    ['defaults', z.string().default('x'), { type: 'string', default: 'x' }],
    ['literals', z.literal([1, 2]), { type: 'number', enum: [1, 2] }],
    [
      'extensions',
      z.string().meta({ 'x-kubernetes-validations': [{ rule: 'self != "a"' }] }),
      { type: 'string', 'x-kubernetes-validations': [{ rule: 'self != "a"' }] },
    ],
    [
      'loose objects',
      z.looseObject({ a: z.boolean() }),
      {
        type: 'object',
        properties: { a: { type: 'boolean' } },
        required: ['a'],
        'x-kubernetes-preserve-unknown-fields': true,
      },
    ],
    [
      'intersections',
      z.intersection(z.object({ a: z.boolean() }), z.object({ b: z.string() })),
      { type: 'object', properties: { a: { type: 'boolean' }, b: { type: 'string' } }, required: ['a', 'b'] },
    ],
    [
      'alternatives of one type',
      z.union([z.string().max(3), z.string().min(9)]),
      { type: 'string', anyOf: [{ maxLength: 3 }, { minLength: 9 }] },
    ],
  ])('expresses %s', (_what, field, schema) => {
    expect(specOf(z.object({ field }))).toMatchObject({ properties: { field: schema } });
  });

  it('keeps the properties beside alternatives, and those of the alternatives', () => {
    const alternative = (name: string) => ({
      type: 'object',
      properties: { [name]: { type: 'string', minLength: 1 } },
      required: [name],
    });
    const common = { mode: { type: ['string', 'null'] } };
    expect(
      specOf({
        properties: common,
        required: ['mode'],
        description: 'All.',
        anyOf: [alternative('a'), alternative('b')],
      } as never),
    ).toEqual({
      type: 'object',
      description: 'All.',
      properties: {
        a: { type: 'string', minLength: 1 },
        b: { type: 'string', minLength: 1 },
        mode: { type: 'string', nullable: true },
      },
      required: ['mode'],
      anyOf: [
        { properties: { a: { minLength: 1 } }, required: ['a'] },
        { properties: { b: { minLength: 1 } }, required: ['b'] },
      ],
    });
    const clash = { properties: { a: { type: 'integer' } }, anyOf: [alternative('a'), alternative('b')] };
    expect(() => specOf(clash as never)).toThrow(
      '.spec.a: the parts of an intersection say different things about type',
    );
  });

  it('takes any value where it has words for people alone', () => {
    const spec = z.object({
      x: z.any().describe('Anything.'),
      y: z.unknown().default(3),
      z: z.any().meta({ deprecated: true }),
    });
    const keeping = { 'x-kubernetes-preserve-unknown-fields': true };
    expect(specOf(spec)).toMatchObject({
      properties: { x: { description: 'Anything.', ...keeping }, y: { default: 3, ...keeping }, z: keeping },
    });
    const described = { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { description: 'All.' }] };
    expect(specOf(described as never)).toEqual({
      type: 'object',
      description: 'All.',
      properties: { a: { type: 'string' } },
    });
  });

  it('inlines what it refers to', () => {
    const port = z.object({ port: z.int().max(65_535) }).meta({ id: 'Port' });
    const one = { type: 'object', properties: { port: { type: 'integer', maximum: 65_535 } } };
    expect(specOf(z.object({ a: port, b: z.array(port) }))).toMatchObject({
      properties: { a: one, b: { type: 'array', items: one } },
    });
  });

  const Tree: z.ZodType = z.lazy(() => z.object({ children: z.array(Tree) }));
  it.each([
    [
      'an object or a string',
      z.union([z.string(), z.object({})]),
      '.spec.field: alternatives of several types (string, object) cannot be expressed',
    ],
    [
      'a tuple',
      z.tuple([z.string(), z.int()]),
      '.spec.field: prefixItems cannot be expressed in a custom resource definition',
    ],
    [
      'names of a kind',
      z.record(z.string().regex(/^a/), z.int()),
      '.spec.field: propertyNames cannot be expressed; a rule (x-kubernetes-validations) can say it',
    ],
    ['a tree', Tree, 'the schema contains itself; end it with x-kubernetes-preserve-unknown-fields'],
    [
      'a date',
      z.date(),
      'the schema of .spec cannot be expressed as JSON Schema: Date cannot be represented in JSON Schema',
    ],
    [
      'limits of an integer or string',
      z.union([z.int(), z.string().max(4)]),
      '.spec.field: limits of an integer or string cannot be expressed',
    ],
    ['nothing', z.never(), '.spec.field: the schema allows no value'],
  ])('refuses %s, and says where', (_what, field, message) => {
    expect(() => specOf(z.object({ field }))).toThrow(message);
  });

  it('says what the definition leaves out', () => {
    const spec = z.strictObject({ a: z.string().meta({ deprecated: true }) });
    expect(defineResource({ ...names, spec }).notes).toEqual([
      'v1 .spec: unknown fields are pruned by the server, not refused (additionalProperties: false)',
      'v1 .spec.a: deprecated true is not in the definition',
    ]);
  });
});

describe('several versions', () => {
  const Echo = defineResource({
    ...names,
    spec: { type: 'object', properties: { text: { type: 'string' } } },
    scale: { specReplicasPath: '.spec.copies', statusReplicasPath: '.status.copies' },
    status: { type: 'object', properties: { copies: { type: 'integer' } } },
    rules: [{ rule: 'self.metadata.name.size() < 20' }],
    selectableFields: ['.spec.text'],
    versions: {
      v1beta1: { spec: z.object({ words: z.array(z.string()) }), deprecated: 'use v1' },
      v1alpha1: { spec: { type: 'object' }, served: false, deprecated: true },
    },
    conversion: { strategy: 'Webhook' },
  });

  it('stand in one definition', () => {
    expect(Echo.definition).toMatchObject({
      spec: {
        conversion: { strategy: 'Webhook' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            subresources: { status: {}, scale: { specReplicasPath: '.spec.copies' } },
            selectableFields: [{ jsonPath: '.spec.text' }],
            schema: { openAPIV3Schema: { 'x-kubernetes-validations': [{ rule: 'self.metadata.name.size() < 20' }] } },
          },
          { name: 'v1beta1', served: true, storage: false, deprecated: true, deprecationWarning: 'use v1' },
          { name: 'v1alpha1', served: false, storage: false, deprecated: true },
        ],
      },
    });
  });

  it('have a resource each', () => {
    expect(Echo.versions.v1beta1).toEqual({ ...names, version: 'v1beta1', plural: 'echos', scope: 'Namespaced' });
    type Beta = ObjectOf<typeof Echo.versions.v1beta1>;
    expectTypeOf<Beta['spec']['words']>().toEqualTypeOf<string[]>();
  });

  it('have names of their own', () => {
    const versions = { v1: { spec: { type: 'object' } } } as const;
    expect(() => defineResource({ ...names, spec: { type: 'object' }, versions })).toThrow(
      'the version v1 is given twice',
    );
  });
});
