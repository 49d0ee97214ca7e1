import { deepCopy } from '@kapstan/api';
import { fieldErrorBody } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { testContext } from '@kapstan/apiserver/testing';
import type { CustomResourceDefinition, JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { builtinFacts } from '@kapstan/kubernetes';
import { describe, expect, it } from 'vitest';
import { type DefinitionParts, widgets } from '../testing/definition-fixture.ts';
import { definitionResource, definitionsId } from './definition-resource.ts';

const resource = definitionResource({ clock: new VirtualClock(), facts: builtinFacts(definitionsId) });
const prepared = (definition: CustomResourceDefinition): never => {
  const object = deepCopy(definition) as never;
  resource.applyDefaults(object);
  return object;
};

/** Returns the causes of a create as [reason, field, message], as clients see them. */
function createErrors(definition: CustomResourceDefinition): string[][] {
  const object = prepared(definition);
  resource.strategy.prepareForCreate(object, testContext());
  return resource.strategy
    .validateCreate(object, testContext())
    .map((error) => [error.type, error.field, fieldErrorBody(error)]);
}

function updateErrors(old: CustomResourceDefinition, change: (next: CustomResourceDefinition) => void): string[][] {
  const before = prepared(old);
  resource.strategy.prepareForCreate(before, testContext());
  (before as CustomResourceDefinition).status ??= {};
  const next = deepCopy(before) as CustomResourceDefinition;
  change(next);
  resource.applyDefaults(next as never);
  resource.strategy.prepareForUpdate(next as never, before, testContext());
  return resource.strategy
    .validateUpdate(next as never, before, testContext())
    .map((error) => [error.type, error.field, fieldErrorBody(error)]);
}

const root = 'spec.validation.openAPIV3Schema';
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

describe('the spec of a definition', () => {
  const refused: readonly (readonly [string, DefinitionParts, ...string[][]])[] = [
    [
      'a group without a dot',
      { group: 'nodot' },
      ['FieldValueInvalid', 'spec.group', 'Invalid value: "nodot": should be a domain with at least one dot'],
    ],
    [
      'an unknown scope',
      { scope: 'Galaxy' as never },
      [
        'FieldValueNotSupported',
        'spec.scope',
        'Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"',
      ],
    ],
    [
      'a version that is no label',
      { version: { name: 'V_1' } },
      ['FieldValueInvalid', 'spec.versions[0].name', `Invalid value: "V_1": ${label}`],
      ['FieldValueInvalid', 'spec.version', `Invalid value: "V_1": ${label}`],
    ],
    [
      'no kind',
      { names: { kind: '' } },
      ['FieldValueRequired', 'spec.names.singular', 'Required value'],
      ['FieldValueRequired', 'spec.names.kind', 'Required value'],
      ['FieldValueRequired', 'spec.names.listKind', 'Required value'],
    ],
    [
      'a list kind that is the kind',
      { names: { listKind: 'Widget' } },
      ['FieldValueInvalid', 'spec.names.listKind', 'Invalid value: "Widget": kind and listKind may not be the same'],
    ],
    [
      'a kind that is no label in any case',
      { names: { kind: 'My_Kind', singular: 'x', listKind: 'Xs' } },
      [
        'FieldValueInvalid',
        'spec.names.kind',
        `Invalid value: "My_Kind": may have mixed case, but should otherwise match: ${label}`,
      ],
    ],
    [
      'short names and categories that are no labels',
      { names: { shortNames: ['ok', 'N_'], categories: ['C_'] } },
      ['FieldValueInvalid', 'spec.names.shortNames[1]', `Invalid value: "N_": ${label}`],
      ['FieldValueInvalid', 'spec.names.categories[0]', `Invalid value: "C_": ${label}`],
    ],
    [
      'versions of one name',
      { versions: [{ name: 'v1' }, { name: 'v1' }] },
      [
        'FieldValueInvalid',
        'spec.versions',
        `Invalid value: ${JSON.stringify(
          [true, false].map((Storage) => ({
            Name: 'v1',
            Served: true,
            Storage,
            Deprecated: false,
            DeprecationWarning: null,
            Schema: null,
            Subresources: null,
            AdditionalPrinterColumns: null,
            SelectableFields: null,
          })),
        )}: must contain unique version names`,
      ],
    ],
    [
      'no schema',
      { version: { schema: {} } },
      ['FieldValueRequired', 'spec.versions[0].schema.openAPIV3Schema', 'Required value'],
    ],
    [
      'a warning for a version that is not deprecated',
      { version: { deprecationWarning: 'old' } },
      [
        'FieldValueInvalid',
        'spec.versions[0].deprecationWarning',
        'Invalid value: "old": can only be set for deprecated versions',
      ],
    ],
    [
      'a warning that cannot be printed',
      { version: { deprecated: true, deprecationWarning: 'a\nb' } },
      [
        'FieldValueInvalid',
        'spec.versions[0].deprecationWarning',
        'Invalid value: "a\\nb": must only contain printable UTF-8 characters; non-printable character found at index 1',
      ],
    ],
    [
      'columns without name, type or path',
      { version: { additionalPrinterColumns: [{ name: '', type: '', jsonPath: '' }] } },
      ['FieldValueRequired', 'spec.additionalPrinterColumns[0].name', 'Required value'],
      [
        'FieldValueRequired',
        'spec.additionalPrinterColumns[0].type',
        'Required value: must be one of boolean,date,integer,number,string',
      ],
      ['FieldValueRequired', 'spec.additionalPrinterColumns[0].JSONPath', 'Required value'],
    ],
    [
      'columns of unknown type and format',
      { version: { additionalPrinterColumns: [{ name: 'a', type: 'text', format: 'big', jsonPath: 'x' }] } },
      [
        'FieldValueInvalid',
        'spec.additionalPrinterColumns[0].type',
        'Invalid value: "text": must be one of boolean,date,integer,number,string',
      ],
      [
        'FieldValueInvalid',
        'spec.additionalPrinterColumns[0].format',
        'Invalid value: "big": must be one of byte,date,date-time,double,float,int32,int64,password',
      ],
      [
        'FieldValueInvalid',
        'spec.additionalPrinterColumns[0].JSONPath',
        'Invalid value: "x": must be a simple json path starting with .',
      ],
    ],
    [
      'scale paths outside of spec and status',
      {
        version: {
          subresources: { scale: { specReplicasPath: '.status.n', statusReplicasPath: '', labelSelectorPath: '.x' } },
        },
      },
      [
        'FieldValueInvalid',
        'spec.subresources.scale.specReplicasPath',
        'Invalid value: ".status.n": should be a json path under .spec',
      ],
      ['FieldValueRequired', 'spec.subresources.scale.statusReplicasPath', 'Required value'],
      [
        'FieldValueInvalid',
        'spec.subresources.scale.labelSelectorPath',
        'Invalid value: ".x": should be a json path under either .spec or .status',
      ],
    ],
    [
      'a webhook that is not described',
      { spec: { conversion: { strategy: 'Webhook' } } },
      [
        'FieldValueRequired',
        'spec.conversion.webhookClientConfig',
        'Required value: required when strategy is set to Webhook',
      ],
      ['FieldValueRequired', 'spec.conversion.conversionReviewVersions', 'Required value'],
    ],
    [
      'a webhook whose URL has a query, or review versions that nobody knows',
      {
        spec: {
          conversion: {
            strategy: 'Webhook',
            webhook: { clientConfig: { url: 'https://x?a=b' }, conversionReviewVersions: ['v7', 'v7'] },
          },
        },
      },
      [
        'FieldValueInvalid',
        'spec.conversion.webhookClientConfig.url',
        'Invalid value: "a=b": query parameters are not permitted in the URL',
      ],
      ['FieldValueInvalid', 'spec.conversion.conversionReviewVersions[1]', 'Invalid value: "v7": duplicate version'],
      [
        'FieldValueInvalid',
        'spec.conversion.conversionReviewVersions',
        'Invalid value: ["v7","v7"]: must include at least one of v1, v1beta1',
      ],
    ],
    [
      'a webhook that is not asked for',
      { spec: { conversion: { strategy: 'None', webhook: { conversionReviewVersions: ['v1'] } } } },
      [
        'FieldValueForbidden',
        'spec.conversion.conversionReviewVersions',
        'Forbidden: should not be set when strategy is not set to Webhook',
      ],
    ],
    [
      'a conversion of another kind',
      { spec: { conversion: { strategy: 'Magic' } } },
      [
        'FieldValueNotSupported',
        'spec.conversion.strategy',
        'Unsupported value: "Magic": supported values: "None", "Webhook"',
      ],
    ],
    [
      'preserveUnknownFields',
      { spec: { preserveUnknownFields: true } },
      [
        'FieldValueInvalid',
        'spec.preserveUnknownFields',
        'Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ],
    ],
    [
      'a protected group without approval',
      { group: 'x.k8s.io' },
      [
        'FieldValueRequired',
        'metadata.annotations[api-approved.kubernetes.io]',
        'Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ],
    ],
    [
      'a protected group with an approval that is none',
      { group: 'kubernetes.io', annotations: { 'api-approved.kubernetes.io': 'yes' } },
      [
        'FieldValueInvalid',
        'metadata.annotations[api-approved.kubernetes.io]',
        'Invalid value: "yes": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111',
      ],
    ],
  ];
  for (const [what, parts, ...causes] of refused) {
    it(`must not have ${what}`, () => expect(createErrors(widgets(parts))).toEqual(causes));
  }

  it('is not compared with a missing name, which the rules of all kinds report', () => {
    const definition = widgets();
    definition.metadata = {};
    expect(createErrors(definition)).toEqual([]);
  });

  it('cannot have its name made from anything but the name', () => {
    const definition = widgets();
    definition.metadata = { ...definition.metadata, generateName: 'w' };
    expect(createErrors(definition)).toEqual([
      ['FieldValueInvalid', 'metadata.generateName', 'Invalid value: "w": must be spec.names.plural+"."+spec.group'],
    ]);
  });

  it('must not have a deprecation warning, whatever its text, unless the version is deprecated', () => {
    const text = '\u0000';
    expect(createErrors(widgets({ version: { deprecationWarning: text } })).map(([, , message]) => message)).toEqual([
      'Invalid value: "\\u0000": can only be set for deprecated versions',
    ]);
  });

  it('must fit the name of the definition', () => {
    const definition = widgets();
    definition.metadata = { name: 'other.example.com' };
    expect(createErrors(definition)).toEqual([
      [
        'FieldValueInvalid',
        'metadata.name',
        'Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group',
      ],
    ]);
  });

  it.each<[string, DefinitionParts]>([
    [
      'an approved protected group',
      { group: 'x.k8s.io', annotations: { 'api-approved.kubernetes.io': 'https://x.io/1' } },
    ],
    [
      'a protected group that says it is not approved',
      { group: 'x.k8s.io', annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
    ],
    [
      'several versions',
      { versions: [{ name: 'v1' }, { name: 'v2beta1', deprecated: true, deprecationWarning: 'old' }] },
    ],
    [
      'names for everything',
      { names: { singular: 'w', listKind: 'WidgetBag', shortNames: ['wd'], categories: ['all'] } },
    ],
  ])('may have %s', (_what, parts) => {
    expect(createErrors(widgets(parts))).toEqual([]);
  });

  it('shows versions that differ with all members of their schemas', () => {
    const typed = { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string' } } } };
    const definition = widgets({ versions: [{ name: 'v1' }, { name: 'v2', storage: true, schema: typed }] });
    const [first] = createErrors(definition);
    const shown = JSON.parse(/Invalid value: (.*): must have exactly/.exec(first?.[2] ?? '')?.[1] ?? '');
    expect(shown[0].Schema.OpenAPIV3Schema).toMatchObject({ ID: '', Type: 'object', XPreserveUnknownFields: true });
    expect(shown[1].Schema.OpenAPIV3Schema.Properties.a).toMatchObject({
      Type: 'string',
      Nullable: false,
      XValidations: null,
    });
    expect(createErrors(definition)[1]).toEqual([
      'FieldValueInvalid',
      'status.storedVersions',
      'Invalid value: ["v1"]: must have the storage version v2',
    ]);
  });

  it('names the version where versions differ', () => {
    const bad = { openAPIV3Schema: { type: 'object', properties: { a: {} } } };
    const [error] = createErrors(widgets({ versions: [{ name: 'v1' }, { name: 'v2', schema: bad }] }));
    expect(error?.[1]).toBe('spec.versions[1].schema.openAPIV3Schema.properties[a].type');
  });
});

describe('the schema of a definition', () => {
  const schemaErrors = (schema: unknown): string[][] =>
    createErrors(widgets({ version: { schema: { openAPIV3Schema: schema as JSONSchemaProps } } }));
  const at = (member: unknown): unknown => ({ type: 'object', properties: { a: member } });
  const a = `${root}.properties[a]`;
  const list = (
    words: object,
    items: object = { type: 'object', properties: { k: { type: 'string' } }, required: ['k'] },
  ): unknown => at({ type: 'array', items, ...words });

  const refused: readonly (readonly [string, unknown, ...string[][]])[] = [
    [
      'no type at the root',
      {},
      ['FieldValueRequired', `${root}.type`, 'Required value: must not be empty at the root'],
    ],
    [
      'another type at the root',
      { type: 'string' },
      ['FieldValueInvalid', `${root}.type`, 'Invalid value: "string": must be object at the root'],
    ],
    [
      'a nullable root',
      { type: 'object', nullable: true },
      ['FieldValueForbidden', `${root}.nullable`, 'Forbidden: nullable cannot be true at the root'],
    ],
    [
      'a map at the root',
      { type: 'object', additionalProperties: true },
      ['FieldValueForbidden', `${root}.additionalProperties`, 'Forbidden: must not be used at the root'],
    ],
    [
      'a property without a type',
      at({}),
      ['FieldValueRequired', `${a}.type`, 'Required value: must not be empty for specified object fields'],
    ],
    [
      'items without a type',
      at({ type: 'array', items: {} }),
      ['FieldValueRequired', `${a}.items.type`, 'Required value: must not be empty for specified array items'],
    ],
    [
      'an unknown type',
      at({ type: 'text' }),
      [
        'FieldValueNotSupported',
        `${a}.type`,
        'Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"',
      ],
    ],
    [
      'an array without items',
      at({ type: 'array' }),
      ['FieldValueRequired', `${a}.items`, 'Required value: must be specified'],
    ],
    [
      'properties beside values',
      at({ type: 'object', properties: { b: { type: 'string' } }, additionalProperties: { type: 'string' } }),
      [
        'FieldValueForbidden',
        `${a}.additionalProperties`,
        'Forbidden: additionalProperties and properties are mutual exclusive',
      ],
    ],
    [
      'a reference',
      at({ $ref: '#/definitions/x' }),
      ['FieldValueForbidden', `${a}.$ref`, 'Forbidden: $ref is not supported'],
    ],
    [
      'definitions',
      { type: 'object', definitions: { x: { type: 'string' } } },
      ['FieldValueForbidden', `${root}.definitions`, 'Forbidden: definitions is not supported'],
    ],
    [
      'dependencies',
      { type: 'object', dependencies: { x: ['y'] } },
      ['FieldValueForbidden', `${root}.dependencies`, 'Forbidden: dependencies is not supported'],
    ],
    [
      'pattern properties',
      { type: 'object', patternProperties: { x: { type: 'string' } } },
      ['FieldValueForbidden', `${root}.patternProperties`, 'Forbidden: patternProperties is not supported'],
    ],
    [
      'several items',
      at({ type: 'array', items: [{ type: 'string' }] }),
      ['FieldValueForbidden', `${a}.items`, 'Forbidden: items must be a schema object and not an array'],
    ],
    [
      'unique items',
      at({ type: 'array', uniqueItems: true, items: { type: 'string' } }),
      [
        'FieldValueForbidden',
        `${a}.uniqueItems`,
        'Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ],
    ],
    [
      'a pattern that is none',
      at({ type: 'string', pattern: '(' }),
      [
        'FieldValueInvalid',
        `${a}.pattern`,
        `Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
      ],
    ],
    [
      'a type in a restriction',
      at({ type: 'string', anyOf: [{ type: 'string' }] }),
      ['FieldValueForbidden', `${a}.anyOf[0].type`, 'Forbidden: must be empty to be structural'],
    ],
    [
      'all that restrictions must not hold',
      at({
        type: 'object',
        properties: { metadata: { type: 'object' } },
        not: {
          default: 1,
          title: 't',
          description: 'd',
          nullable: true,
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { metadata: {} },
        },
      }),
      ['FieldValueForbidden', `${a}.not.default`, 'Forbidden: must be undefined to be structural'],
      ['FieldValueForbidden', `${a}.not.title`, 'Forbidden: must be empty to be structural'],
      ['FieldValueForbidden', `${a}.not.description`, 'Forbidden: must be empty to be structural'],
      ['FieldValueForbidden', `${a}.not.nullable`, 'Forbidden: must be false to be structural'],
      [
        'FieldValueForbidden',
        `${a}.not.x-kubernetes-preserve-unknown-fields`,
        'Forbidden: must be false to be structural',
      ],
      ['FieldValueForbidden', `${a}.not.properties[metadata]`, 'Forbidden: must not be specified in a nested context'],
    ],
    [
      'a restriction at the root of what is not specified',
      { type: 'object', properties: { b: { type: 'string' } }, allOf: [{ properties: { c: { minLength: 1 } } }] },
      [
        'FieldValueRequired',
        `${root}.properties[c]`,
        `Required value: because it is defined in ${root}.allOf[0].properties[c]`,
      ],
    ],
    [
      'maps in a restriction',
      at({ type: 'object', anyOf: [{ additionalProperties: { maxLength: 1 } }] }),
      ['FieldValueForbidden', `${a}.anyOf[0].additionalProperties`, 'Forbidden: must be undefined to be structural'],
    ],
    [
      'more of metadata than names',
      { type: 'object', properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } } },
      [
        'FieldValueForbidden',
        `${root}.properties[metadata]`,
        'Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
      ],
    ],
    [
      'a default in metadata',
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { name: { type: 'string', default: 'x' } } } },
      },
      [
        'FieldValueForbidden',
        `${root}.properties[metadata].properties[name].default`,
        'Forbidden: must not be set in top-level metadata',
      ],
    ],
    [
      'a kind that is no text',
      { type: 'object', properties: { kind: { type: 'integer' } } },
      ['FieldValueInvalid', `${root}.properties[kind].type`, 'Invalid value: "integer": must be string'],
    ],
    [
      'an embedded resource that is no object',
      at({ type: 'string', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }),
      [
        'FieldValueInvalid',
        `${a}.type`,
        'Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
      ],
    ],
    [
      'an embedded resource that holds nothing',
      at({ type: 'object', 'x-kubernetes-embedded-resource': true }),
      [
        'FieldValueRequired',
        `${a}.properties`,
        'Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ],
    ],
    [
      'int-or-string that preserves',
      at({ 'x-kubernetes-int-or-string': true, 'x-kubernetes-preserve-unknown-fields': true }),
      [
        'FieldValueInvalid',
        `${a}.x-kubernetes-preserve-unknown-fields`,
        'Invalid value: true: must be false if x-kubernetes-int-or-string is true',
      ],
    ],
    [
      'preserving that is false',
      at({ type: 'object', 'x-kubernetes-preserve-unknown-fields': false }),
      [
        'FieldValueInvalid',
        `${a}.x-kubernetes-preserve-unknown-fields`,
        'Invalid value: false: must be true or undefined',
      ],
    ],
    [
      'rules that restrict',
      at({ type: 'integer', allOf: [{ 'x-kubernetes-validations': [{ rule: 'self > 0' }] }] }),
      ['FieldValueForbidden', `${a}.allOf[0].x-kubernetes-validations`, 'Forbidden: must be empty to be structural'],
    ],
    [
      'rules that its default breaks',
      at({ type: 'integer', default: 1, 'x-kubernetes-validations': [{ rule: 'self > 1' }] }),
      ['FieldValueInvalid', `${a}.default`, 'Invalid value: 1: failed rule: self > 1'],
    ],
    [
      'rules that its default breaks when it is new',
      at({
        type: 'integer',
        default: 1,
        'x-kubernetes-validations': [{ rule: 'oldSelf.hasValue()', optionalOldSelf: true }],
      }),
      ['FieldValueInvalid', `${a}.default`, 'Invalid value: 1: failed rule: oldSelf.hasValue()'],
    ],
    [
      'a default of another type',
      at({ type: 'integer', default: 'x' }),
      ['FieldValueTypeInvalid', `${a}.default`, 'Invalid value: "string":  in body must be of type integer: "string"'],
    ],
    [
      'a default with unknown fields',
      at({ type: 'object', properties: { b: { type: 'string' } }, default: { c: 1 } }),
      ['FieldValueInvalid', `${a}.default`, 'Invalid value: {"c":1}: must not have unknown fields'],
    ],
    [
      'a default that is wrong inside',
      at({ type: 'object', properties: { b: { type: 'string' } }, default: { b: 1 } }),
      [
        'FieldValueTypeInvalid',
        `${a}.default.b`,
        'Invalid value: "integer": b in body must be of type string: "integer"',
      ],
    ],
    [
      'a list type of what is no list',
      at({ type: 'string', 'x-kubernetes-list-type': 'set' }),
      [
        'FieldValueInvalid',
        `${a}.type`,
        'Invalid value: "string": must be array if x-kubernetes-list-type is specified',
      ],
    ],
    [
      'an unknown list type',
      list({ 'x-kubernetes-list-type': 'bag' }),
      [
        'FieldValueNotSupported',
        `${a}.x-kubernetes-list-type`,
        'Unsupported value: "bag": supported values: "atomic", "set", "map"',
      ],
    ],
    [
      'a map without keys',
      list({ 'x-kubernetes-list-type': 'map' }),
      [
        'FieldValueRequired',
        `${a}.x-kubernetes-list-map-keys`,
        'Required value: must not be empty if x-kubernetes-list-type is map',
      ],
    ],
    [
      'keys without a map',
      list({ 'x-kubernetes-list-map-keys': ['k'] }),
      [
        'FieldValueRequired',
        `${a}.x-kubernetes-list-type`,
        'Required value: must be map if x-kubernetes-list-map-keys is non-empty',
      ],
    ],
    [
      'keys that are no properties',
      list({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['z', 'z'] }),
      [
        'FieldValueInvalid',
        `${a}.x-kubernetes-list-map-keys`,
        'Invalid value: ["z","z"]: entries must all be names of item properties',
      ],
      [
        'FieldValueInvalid',
        `${a}.x-kubernetes-list-map-keys`,
        'Invalid value: ["z","z"]: entries must all be names of item properties',
      ],
      [
        'FieldValueInvalid',
        `${a}.x-kubernetes-list-map-keys`,
        'Invalid value: ["z","z"]: must not contain duplicate entries',
      ],
    ],
    [
      'keys that may be absent',
      list(
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
        { type: 'object', properties: { k: { type: 'string' } } },
      ),
      [
        'FieldValueRequired',
        `${a}.items.properties[k].default`,
        'Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      ],
    ],
    [
      'a set of objects that merge',
      list({ 'x-kubernetes-list-type': 'set' }),
      [
        'FieldValueInvalid',
        `${a}.items.x-kubernetes-map-type`,
        'Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set',
      ],
    ],
    [
      'a set of nullable items',
      list({ 'x-kubernetes-list-type': 'set' }, { type: 'string', nullable: true }),
      [
        'FieldValueForbidden',
        `${a}.items.nullable`,
        'Forbidden: cannot be nullable when x-kubernetes-list-type is set',
      ],
    ],
    [
      'an unknown map type',
      at({ type: 'object', 'x-kubernetes-map-type': 'x' }),
      [
        'FieldValueNotSupported',
        `${a}.x-kubernetes-map-type`,
        'Unsupported value: "x": supported values: "atomic", "granular"',
      ],
    ],
  ];
  it.each(refused)('must not have %s', (_what, schema, ...causes) => {
    expect(schemaErrors(schema)).toEqual(causes.map((cause) => cause));
  });

  it.each<[string, unknown]>([
    ['values forbidden', at({ type: 'object', additionalProperties: false })],
    ['a type beside int-or-string', at({ type: 'string', 'x-kubernetes-int-or-string': true })],
    [
      'int-or-string in words',
      at({ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }),
    ],
    [
      'int-or-string in words among others',
      at({
        'x-kubernetes-int-or-string': true,
        allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { minLength: 1 }],
      }),
    ],
    [
      'names in metadata',
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 9 } } } },
      },
    ],
    ['a place that takes anything', at({ 'x-kubernetes-preserve-unknown-fields': true })],
    [
      'defaults that fit',
      at({
        type: 'object',
        default: {},
        properties: { b: { type: 'array', items: { type: 'string' }, default: ['x'] } },
      }),
    ],
    [
      'a set of atomic objects',
      list({ 'x-kubernetes-list-type': 'set' }, { type: 'object', 'x-kubernetes-map-type': 'atomic' }),
    ],
    [
      'a map of lists by a key with a default',
      list(
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
        { type: 'object', properties: { k: { type: 'string', default: 'x' } } },
      ),
    ],
    [
      'schemas named like members of Object',
      at({ type: 'object', properties: { constructor: { type: 'string' }, toString: { type: 'string' } } }),
    ],
  ])('may have %s', (_what, schema) => {
    expect(schemaErrors(schema)).toEqual([]);
  });

  it('beside a status holds only what can be taken apart', () => {
    const schema = { type: 'object', oneOf: [{ required: ['spec'] }], properties: { spec: { type: 'object' } } };
    const [error] = createErrors(
      widgets({ version: { schema: { openAPIV3Schema: schema }, subresources: { status: {} } } }),
    );
    expect(error?.[1]).toBe(root);
    expect(error?.[2]).toMatch(
      /: only \[Description Type .* XValidations\] fields are allowed at the root of the schema/,
    );
  });

  it('holds the fields that lists select by', () => {
    const schema = at({
      type: 'object',
      properties: { text: { type: 'string' }, list: { type: 'array', items: { type: 'string' } } },
    });
    const paths = ['.a.text', '.a.text', '.a.list', '.a.none', '', '.metadata.name', 'a.text', '.a.list[0]'];
    const selectableFields = paths.map((jsonPath) => ({ jsonPath }));
    const errors = createErrors(
      widgets({ version: { schema: { openAPIV3Schema: schema as JSONSchemaProps }, selectableFields } }),
    );
    const scalar =
      'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
    const invalid = (place: number, path: string, why: string) => [
      'FieldValueInvalid',
      `spec.selectableFields[${place}].jsonPath`,
      `Invalid value: "${path}": ${why}`,
    ];
    expect(errors).toEqual([
      ['FieldValueDuplicate', 'spec.selectableFields[1].jsonPath', 'Duplicate value: ".a.text"'],
      invalid(2, '.a.list', scalar),
      invalid(3, '.a.none', 'is an invalid path: does not refer to a valid field'),
      ['FieldValueRequired', 'spec.selectableFields[4].jsonPath', 'Required value'],
      invalid(5, '.metadata.name', 'is an invalid path: does not refer to a valid field'),
      invalid(6, 'a.text', 'is an invalid path: expected [ or . but got: a'),
      invalid(7, '.a.list[0]', 'is an invalid path: array notation is not allowed'),
    ]);
  });
});

describe('an update of a definition', () => {
  const established = (): CustomResourceDefinition => {
    const definition = widgets();
    definition.status = { conditions: [{ type: 'Established', status: 'True' }], storedVersions: ['v1'] };
    return definition;
  };
  const immutable = (field: string, value: string): string[] => [
    'FieldValueInvalid',
    field,
    `Invalid value: ${JSON.stringify(value)}: field is immutable`,
  ];

  it('reports invalid values before changes that are not allowed', () => {
    expect(updateErrors(widgets(), ({ spec }) => (spec.group = 'x'))).toEqual([
      ['FieldValueInvalid', 'spec.group', 'Invalid value: "x": should be a domain with at least one dot'],
      immutable('spec.group', 'x'),
    ]);
  });

  it('cannot do without versions', () => {
    const [errors] = [updateErrors(widgets(), ({ spec }) => (spec.versions = null as never))];
    expect(errors.map(([, field]) => field)).toEqual(['spec.versions', 'status.storedVersions[0]']);
    expect(errors[0]?.[2]).toBe('Invalid value: null: must have exactly one version marked as storage version');
  });

  it('cannot change its group', () => {
    expect(updateErrors(widgets(), ({ spec }) => (spec.group = 'x.example.com'))).toEqual([
      immutable('spec.group', 'x.example.com'),
    ]);
  });

  it('can change its scope and kind before it is established, never after', () => {
    const change = ({ spec }: CustomResourceDefinition): void => {
      spec.scope = 'Cluster';
      spec.names.kind = 'Gizmo';
      spec.names.listKind = 'GizmoList';
    };
    expect(updateErrors(widgets(), change)).toEqual([]);
    const before = established();
    const object = prepared(before) as CustomResourceDefinition;
    const next = deepCopy(object);
    change(next);
    expect(
      resource.strategy.validateUpdate(next as never, object as never, testContext()).map(({ field }) => field),
    ).toEqual(['spec.scope', 'spec.names.kind']);
  });

  it('never fails on an approval that was missing before', () => {
    const old = widgets({ group: 'x.k8s.io' });
    expect(updateErrors(old, ({ spec }) => (spec.names.shortNames = ['wd']))).toEqual([]);
    const approved = widgets({ group: 'x.k8s.io', annotations: { 'api-approved.kubernetes.io': 'https://x.io/1' } });
    const errors = updateErrors(approved, (next) => (next.metadata = { name: next.metadata?.name ?? '' }));
    expect(errors.map(([type]) => type)).toEqual(['FieldValueRequired']);
  });

  it('raises the generation with the spec alone', () => {
    const old = prepared(widgets()) as CustomResourceDefinition;
    resource.strategy.prepareForCreate(old as never, testContext());
    const next = deepCopy(old);
    next.metadata = { ...next.metadata, labels: { a: 'b' }, generation: 1 };
    resource.strategy.prepareForUpdate(next as never, old as never, testContext());
    expect(next.metadata?.generation).toBe(1);
    next.spec.names.shortNames = ['wd'];
    resource.strategy.prepareForUpdate(next as never, old as never, testContext());
    expect(next.metadata?.generation).toBe(2);
  });
});
