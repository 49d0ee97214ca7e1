import { describe, expect, it } from 'vitest';
import { definitionsIn } from '../source/definition-document.ts';
import type { JsonObject } from '../source/json-object.ts';
import { typeFiles } from './generate-types.ts';

interface Parts {
  readonly kind?: string;
  readonly scope?: string;
  readonly version?: JsonObject;
}

function definition(schema: JsonObject, { kind = 'Site', scope = 'Namespaced', version = {} }: Parts = {}): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.demo.dev` },
    spec: {
      group: 'demo.dev',
      scope,
      names: { kind, plural },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version }],
    },
  };
}

const filesOf = (...definitions: readonly JsonObject[]) =>
  typeFiles(definitionsIn(definitions.map((one) => JSON.stringify(one)).join('\n---\n'), 'a.yaml'), {
    source: 'a.yaml',
  });

function textOf(...definitions: readonly JsonObject[]): string {
  return filesOf(...definitions).find(({ path }) => path === 'demo.dev/v1.ts')?.text ?? '';
}

/** The type of one field of `spec`, with its comment. */
function fieldOf(field: JsonObject, required: readonly string[] = []): string {
  const spec = { type: 'object', properties: { field }, required };
  const text = textOf(definition({ type: 'object', properties: { spec }, required: ['spec'] }));
  return /export interface SiteSpec \{\n(.*?)\n\}/s.exec(text)?.[1] ?? text;
}

describe('the type of a field', () => {
  it.each([
    ['text', { type: 'string' }, 'string'],
    ['an integer', { type: 'integer' }, 'number'],
    ['an enumeration', { type: 'string', enum: ['a', 'b"'] }, '"a" | "b\\""'],
    ['an enumeration of numbers', { type: 'integer', enum: [1, 2] }, '1 | 2'],
    ['null', { type: 'string', nullable: true }, 'string | null'],
    ['an enumeration with null', { type: 'string', nullable: true, enum: ['a', null] }, '"a" | null'],
    [
      'an integer or string',
      { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      'number | string',
    ],
    ['a list', { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, '("a" | "b")[]'],
    ['a map', { type: 'object', additionalProperties: { type: 'boolean' } }, '{ [key: string]: boolean }'],
    [
      'a map of lists',
      { type: 'object', additionalProperties: { type: 'array', items: { type: 'number' } } },
      '{ [key: string]: number[] }',
    ],
    ['nothing', { type: 'object' }, '{ [key: string]: never }'],
  ])('is exact for %s', (_what, field, type) => {
    expect(fieldOf(field)).toBe(`  field?: ${type};`);
    expect(fieldOf(field, ['field'])).toBe(`  field: ${type};`);
  });

  it('keeps unknown fields where the server does', () => {
    const keeping = { 'x-kubernetes-preserve-unknown-fields': true };
    expect(fieldOf({ type: 'object', ...keeping })).toContain('field?: { [key: string]: unknown };');
    expect(fieldOf(keeping)).toContain('field?: unknown;');
    const text = textOf(
      definition({
        type: 'object',
        properties: { spec: { type: 'object', ...keeping, properties: { a: { type: 'string' } } } },
      }),
    );
    expect(text).toContain('export interface SiteSpec {\n  a?: string;\n  [key: string]: unknown;\n}');
  });

  it('says in a comment what a type cannot say', () => {
    const field = {
      type: 'array',
      description: 'Words. */ More.',
      default: ['x'],
      maxItems: 9,
      items: { type: 'string', pattern: '^a`$', minLength: 2 },
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-validations': [
        { rule: 'self.size() > 1', message: 'two are needed' },
        { rule: 'true', messageExpression: '"a"' },
      ],
      oneOf: [{ minItems: 1 }],
    };
    expect(fieldOf(field)).toBe(
      [
        '  /**',
        '   * Words. *\\/ More.',
        '   *',
        '   * @default ["x"]',
        '   * Limits: maxItems 9.',
        '   * Each item may occur once.',
        '   * Rule: `self.size() > 1`, else: two are needed',
        '   * Rule: `true`, else: ("a")',
        '   * Not in the type: oneOf [{"minItems":1}]',
        '   * Each item: Limits: minLength 2, pattern `` ^a`$ ``.',
        '   */',
        '  field?: string[];',
      ].join('\n'),
    );
  });

  it('tells limits that exclude their value, and keys of merged lists', () => {
    expect(fieldOf({ type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 2 })).toContain(
      'Limits: minimum 1 (exclusive), maximum 2.',
    );
    const items = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const list = { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
    expect(fieldOf(list)).toBe('  /** The items are merged by their `name`. */\n  field?: SiteSpecField[];');
  });

  it('is an object of its kind for an embedded one', () => {
    const spec = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { kind: { type: 'string' }, apiVersion: { type: 'string' }, data: { type: 'string' } },
    };
    expect(textOf(definition({ type: 'object', properties: { spec } }))).toContain(
      'export interface SiteSpec extends kapstan.KubernetesObject {\n  apiVersion: string;\n  kind: string;\n  data?: string;\n}',
    );
  });

  it('may have any name', () => {
    const text = textOf(
      definition({
        type: 'object',
        properties: {
          'a-b': { type: 'object', properties: { 'c d': { type: 'string' } } },
          ['__proto__']: { type: 'string' },
        },
      }),
    );
    expect(text).toContain('  "a-b"?: SiteAB;');
    expect(text).toContain('export interface SiteAB {\n  "c d"?: string;\n}');
    expect(text).toContain('  __proto__?: string;');
  });
});

describe('the file of a group version', () => {
  it('has the kinds with their tokens, in a fixed order', () => {
    const site = definition({
      type: 'object',
      description: 'A site.',
      properties: { spec: { type: 'object' }, status: { type: 'object' } },
      required: ['spec'],
    });
    const zone = definition({ type: 'object' }, { kind: 'Area', scope: 'Cluster' });
    const text = textOf(site, zone);
    expect(text).toBe(`// Generated by kapstan generate types from a.yaml. Do not edit.
import type * as kapstan from '@kapstan/api';

export interface Area extends kapstan.KubernetesObject {
}

/** A site. */
export interface Site extends kapstan.KubernetesObject {
  spec: { [key: string]: never };
  status?: { [key: string]: never };
}

export const Area: kapstan.Resource<Area> & { readonly scope: 'Cluster' } = { group: "demo.dev", version: "v1", kind: "Area", plural: "areas", scope: "Cluster" };
export const Site: kapstan.NamespacedResource<Site> = { group: "demo.dev", version: "v1", kind: "Site", plural: "sites", scope: "Namespaced" };
`);
    expect(textOf(zone, site)).toBe(text);
  });

  it('gives each type a name of its own', () => {
    const nested = { type: 'object', properties: { a: { type: 'string' } } };
    const site = definition({ type: 'object', properties: { map: nested } });
    const siteMap = definition({ type: 'object', properties: { list: { type: 'object' } } }, { kind: 'SiteMap' });
    const text = textOf(site, siteMap);
    expect(text).toContain('  map?: SiteMap2;');
    expect(text).toContain('export interface SiteMap extends kapstan.KubernetesObject {\n  list?');
  });

  it('says what is deprecated or not served', () => {
    const version = { served: false, deprecated: true, deprecationWarning: 'use v2' };
    expect(textOf(definition({ type: 'object' }, { version }))).toContain(
      '/**\n * This version is not served.\n * @deprecated use v2\n */',
    );
  });

  it('shows origin and path of a URL, and neither its user nor its query', () => {
    const definitions = definitionsIn(JSON.stringify(definition({ type: 'object' })), 'a.yaml');
    const [file] = typeFiles(definitions, { source: 'https://me:hunter2@demo.dev/a.yaml?token=hunter2' });
    expect(file?.text).toMatch(
      /^\/\/ Generated by kapstan generate types from https:\/\/demo\.dev\/a\.yaml\. Do not edit\.\n/,
    );
    expect(file?.text).not.toContain('hunter2');
  });

  it('is made from items of a list that do not say their kind', () => {
    const { kind: _kind, apiVersion, ...item } = definition({ type: 'object' });
    const list = { apiVersion, kind: 'CustomResourceDefinitionList', items: [item] };
    expect(textOf(list)).toContain('export interface Site ');
  });

  it('has a neighbour with the whole definitions', () => {
    const site = definition({ type: 'object', properties: { ['__proto__']: { type: 'string' } } });
    const [file] = filesOf({
      ...site,
      status: { storedVersions: ['v1'] },
      metadata: {
        ...(site.metadata as object),
        uid: 'u',
        generation: 1,
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
      },
    });
    expect(file?.path).toBe('demo.dev/definitions.ts');
    expect(file?.text).toContain('import type * as v1 from "./v1.ts";');
    expect(file?.text).toContain('export const Site: kapstan.DefinedResource<v1.Site> = {');
    expect(file?.text).toContain('["__proto__"]: {');
    for (const word of ['storedVersions', 'uid', 'generation', 'annotations']) expect(file?.text).not.toContain(word);
  });
});

describe('errors', () => {
  const wrong = (change: (spec: Record<string, unknown>) => void): JsonObject => {
    const one = structuredClone(definition({ type: 'object' }));
    change(one.spec as Record<string, unknown>);
    return one;
  };
  it.each([
    [wrong((spec) => delete spec.group), 'a.yaml, document 1 (sites.demo.dev): spec.group: Required value'],
    [
      wrong((spec) => Object.assign(spec, { versions: [] })),
      'a.yaml, document 1 (sites.demo.dev): spec.versions: Required value',
    ],
    [
      wrong((spec) => Object.assign(spec, { versions: [{ name: 'v1', storage: true }] })),
      'spec.versions[0].schema.openAPIV3Schema: Required value',
    ],
    [
      definition({ type: 'object', properties: { a: { type: 'text' } } }),
      'spec.versions[0].schema.openAPIV3Schema.properties[a].type: Unsupported value: "text"',
    ],
    [
      definition({ type: 'object', properties: { a: { type: 'array', items: [] } } }),
      'properties[a].items: must be an object',
    ],
    [
      { ...definition({}), apiVersion: 'apiextensions.k8s.io/v1beta1' },
      'a.yaml, document 1 (sites.demo.dev): apiVersion: "apiextensions.k8s.io/v1beta1" is not served since Kubernetes 1.22',
    ],
  ])('name file, document and path (%#)', (one, message) => {
    expect(() => filesOf(one)).toThrow(message);
  });

  it.each([
    [
      'spec.group: Invalid value: "../../x"',
      (spec: Record<string, unknown>) => Object.assign(spec, { group: '../../x' }),
    ],
    [
      'spec.versions[0].name: Invalid value: "v1\';evil()//": a DNS-1035 label',
      (spec: Record<string, unknown>) =>
        Object.assign((spec.versions as object[])[0] as object, { name: "v1';evil()//" }),
    ],
    [
      'spec.versions[0].name: a version named "definitions" has no file',
      (spec: Record<string, unknown>) =>
        Object.assign((spec.versions as object[])[0] as object, { name: 'definitions' }),
    ],
    [
      'spec.names.plural: Invalid value: "a/b"',
      (spec: Record<string, unknown>) => Object.assign(spec.names as object, { plural: 'a/b' }),
    ],
    [
      'spec.names.kind: Invalid value: "A/B"',
      (spec: Record<string, unknown>) => Object.assign(spec.names as object, { kind: 'A/B' }),
    ],
  ])('refuse a name that would become code or another path: %s', (message, change) => {
    expect(() => filesOf(wrong(change))).toThrow(`a.yaml, document 1 (sites.demo.dev): ${message}`);
  });

  it('name a definition without a stored version, and two of one kind', () => {
    const one = definition({ type: 'object' });
    expect(() => filesOf(definition({ type: 'object' }, { version: { storage: false } }))).toThrow(
      'spec.versions: must have exactly one version marked as storage version',
    );
    const other = { ...one, metadata: { name: 'others.demo.dev' } };
    expect(() => filesOf(one, other)).toThrow(
      'a.yaml, document 2 (others.demo.dev): the kind Site of demo.dev is also in a.yaml, document 1 (sites.demo.dev)',
    );
  });

  it('name both places of a definition that is there twice', () => {
    const one = definition({ type: 'object' });
    expect(() => filesOf(one, one)).toThrow(
      'a.yaml, document 2 (sites.demo.dev): the same definition is in a.yaml, document 1 (sites.demo.dev)',
    );
  });

  it('name the line of text that is no YAML', () => {
    expect(() => definitionsIn('a: 1\n---\nb: [', 'b.yaml')).toThrow(/^b\.yaml, document 2, line 3, column 5: /);
    expect(() => definitionsIn('a: 1\na: 2', 'b.yaml')).toThrow(
      'b.yaml, document 1, line 2, column 1: Map keys must be unique',
    );
    const bomb = [
      'a: &a [1,1,1,1,1,1,1,1,1]',
      ...'bcdefgh'.split('').map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[at]}`)}]`),
    ];
    expect(() => definitionsIn(bomb.join('\n'), 'b.yaml')).toThrow('Excessive alias count');
  });
});
