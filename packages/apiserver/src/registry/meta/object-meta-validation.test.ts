import type { DeepReadonly, ObjectMeta } from '@kapstan/api';
import { formatFieldError } from '@kapstan/api/errors';
import { describe, expect, it } from 'vitest';
import { nameIsDnsLabel, nameIsPathSegment } from './names.ts';
import { fieldManagerErrors, type MetadataRules, validateObjectMeta } from './object-meta-validation.ts';

const rules: MetadataRules = { namespaced: true, finalizerNames: 'Kubernetes' };
const errorsOf = (meta: DeepReadonly<ObjectMeta>, more: Partial<MetadataRules> = {}): string[] =>
  validateObjectMeta({ name: 'x', namespace: 'ns', ...meta }, { ...rules, ...more }).map(formatFieldError);

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const qualified =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const label = 'x'.repeat(64);
const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u1' };

describe('metadata', () => {
  it.each<[string, DeepReadonly<ObjectMeta>, readonly string[]]>([
    ['nothing wrong', {}, []],
    ['upper case', { name: 'Upper' }, [`metadata.name: Invalid value: "Upper": ${subdomain}`]],
    ['a slash', { name: 'a/b' }, [`metadata.name: Invalid value: "a/b": ${subdomain}`]],
    ['the longest name', { name: 'a'.repeat(253) }, []],
    [
      'a longer name',
      { name: 'a'.repeat(254) },
      [`metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`],
    ],
    ['no name', { name: '' }, ['metadata.name: Required value: name or generateName is required']],
    ['a prefix ending in a dash', { generateName: 'gen-' }, []],
    ['a bad prefix', { generateName: 'Bad_' }, [`metadata.generateName: Invalid value: "Bad_": ${subdomain}`]],
    ['no namespace', { namespace: '' }, ['metadata.namespace: Required value']],
    [
      'a negative generation',
      { generation: -1 },
      ['metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'a bad label key',
      { labels: { 'bad key': 'v' } },
      [`metadata.labels: Invalid value: "bad key": name part ${qualified}`],
    ],
    [
      'a label key bad in both parts',
      { labels: { '-bad/-key': 'v' } },
      [
        `metadata.labels: Invalid value: "-bad/-key": prefix part ${subdomain}`,
        `metadata.labels: Invalid value: "-bad/-key": name part ${qualified}`,
      ],
    ],
    [
      'a long label value',
      { labels: { k: label } },
      [`metadata.labels: Invalid value: "${label}": must be no more than 63 bytes`],
    ],
    [
      'an annotation key',
      { annotations: { '-a': 'v' } },
      [`metadata.annotations: Invalid value: "-a": name part ${qualified}`],
    ],
    ['an annotation key with capitals in its domain', { annotations: { 'Example.COM/a': 'v' } }, []],
    ['the largest annotations', { annotations: { a: 'x'.repeat(262_143) } }, []],
    [
      'larger annotations',
      { annotations: { a: 'x'.repeat(262_144) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    [
      'an owner of nothing',
      { ownerReferences: [{ apiVersion: 'a/b/c', kind: '', name: '', uid: '' }] },
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      'two controllers',
      {
        ownerReferences: [
          { controller: true, ...owner },
          { ...owner, name: 'p', uid: 'u2', controller: true },
        ],
      },
      [
        'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u1","controller":true},{"apiVersion":"v1","kind":"ConfigMap","name":"p","uid":"u2","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for ConfigMap/o and ConfigMap/p',
      ],
    ],
    [
      'an event as owner',
      { ownerReferences: [{ ...owner, kind: 'Event' }] },
      [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"o","uid":"u1"}: /v1, Kind=Event is disallowed from being an owner',
      ],
    ],
    ['standard finalizers', { finalizers: ['kubernetes', 'orphan', 'x.io/f'] }, []],
    [
      'a finalizer without a domain',
      { finalizers: ['x.io/f', 'nodomain'] },
      [
        'metadata.finalizers[1]: Invalid value: "nodomain": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      'a bad finalizer',
      { finalizers: ['x.io/'] },
      [
        'metadata.finalizers: Invalid value: "x.io/": name part must be non-empty',
        `metadata.finalizers: Invalid value: "x.io/": name part ${qualified}`,
      ],
    ],
    [
      'both finalizers of the collector',
      { finalizers: ['orphan', 'foregroundDeletion'] },
      [
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
      ],
    ],
    [
      'managed fields of no operation',
      {
        managedFields: [
          { operation: 'Update' },
          { fieldsType: 'FieldsV2' as never, manager: 'm'.repeat(129), subresource: 's'.repeat(257) },
        ],
      },
      [
        'metadata.managedFields[1].operation: Invalid value: "": must be `Apply` or `Update`',
        'metadata.managedFields[1].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
        'metadata.managedFields[1].manager: Too long: may not be more than 128 bytes',
        'metadata.managedFields[1].subresource: Too long: may not be more than 256 bytes',
      ],
    ],
  ])('%s', (_case, meta, expected) => {
    expect(errorsOf(meta)).toEqual(expected);
  });

  it('of a cluster-scoped object has no namespace', () => {
    expect(errorsOf({}, { namespaced: false })).toEqual(['metadata.namespace: Forbidden: not allowed on this type']);
  });

  it('may hold any qualified finalizer where the kind says so', () => {
    expect(errorsOf({ finalizers: ['nodomain'] }, { finalizerNames: 'Qualified' })).toEqual([]);
  });

  it.each<[string, MetadataRules['nameRule'], string, readonly string[]]>([
    ['a label', nameIsDnsLabel, 'a.b', ['must not contain dots']],
    ['a path segment', nameIsPathSegment, 'system:node', []],
    ['a path segment', nameIsPathSegment, 'a/b', ["may not contain '/'"]],
    ['a path segment', nameIsPathSegment, '.', ["may not be '.'"]],
  ])('with a name that must be %s', (_case, nameRule, name, texts) => {
    expect(errorsOf({ name }, { nameRule })).toEqual(
      texts.map((text) => `metadata.name: Invalid value: ${JSON.stringify(name)}: ${text}`),
    );
  });
});

describe('metadata with more errors than a stack holds', () => {
  const many = 150_000;
  const badKeys = Array.from({ length: many / 2 }, (_, at) => [`-/-${at}`, '']);
  const badManager = { operation: 'Update' as const, manager: '\0'.repeat(100) };

  it.each<[string, DeepReadonly<ObjectMeta>]>([
    ['annotations', { annotations: Object.fromEntries(badKeys) }],
    [
      'owners',
      {
        ownerReferences: Array.from({ length: many / 4 }, () => ({
          ...owner,
          apiVersion: '',
          kind: '',
          name: '',
          uid: '',
        })),
      },
    ],
    ['managers', { managedFields: Array.from({ length: many / 100 }, () => badManager) }],
  ])('has them all told: %s', (_what, meta) => {
    expect(validateObjectMeta({ name: 'x', namespace: 'ns', ...meta }, rules).length).toBeGreaterThanOrEqual(many);
  });

  it('reports ten controllers beside the first, and only one of a longer list, because each error shows all', () => {
    const told = [2, 11, 12, 100].map((length) => {
      return errorsOf({ ownerReferences: Array.from({ length }, () => ({ ...owner, controller: true })) }).length;
    });
    expect(told).toEqual([1, 10, 1, 1]);
  });
});

describe('the name of a field manager', () => {
  it('is not reported for each wrong character when it is too long, because each error shows it', () => {
    expect(fieldManagerErrors('\0'.repeat(129), 'fieldManager').map(({ type }) => type)).toEqual(['FieldValueTooLong']);
  });

  it('is printable', () => {
    expect(fieldManagerErrors('kubectl édit-1', 'fieldManager')).toEqual([]);
    expect(fieldManagerErrors('é\u0000', 'fieldManager').map(formatFieldError)).toEqual([
      'fieldManager: Invalid value: "é\\x00": invalid character U+0000 (at position 2)',
    ]);
  });
});
