import { isStatusError, type StatusError, type UnstructuredObject } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { factTypes } from '../testing/fact-types.ts';
import { applyPatch } from '../testing/whole-work.ts';
import { createPatcher, type PatchOptions, type PatchType } from './apply-patch.ts';

const configMapKind = { group: '', version: 'v1', kind: 'ConfigMap' };
const configMapSchema = factTypes.schemaOfKind('v1', 'ConfigMap') as SchemaNode;
const deploymentKind = { group: 'apps', version: 'v1', kind: 'Deployment' };
const deploymentSchema = factTypes.schemaOfKind('apps/v1', 'Deployment') as SchemaNode;
const serviceKind = { group: '', version: 'v1', kind: 'Service' };
const serviceSchema = factTypes.schemaOfKind('v1', 'Service') as SchemaNode;

const configMap = (data: Record<string, unknown> = { a: '1' }, metadata = {}): UnstructuredObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', labels: { l: '1' }, annotations: { 'x/y': 's' }, ...metadata },
  data,
});

interface Outcome {
  readonly object?: UnstructuredObject;
  readonly error?: StatusError;
  readonly warnings: readonly string[];
}

function patch(
  type: PatchType,
  present: UnstructuredObject,
  body: unknown,
  options: Partial<PatchOptions> = {},
): Outcome {
  const warnings: string[] = [];
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const before = JSON.stringify(present);
  try {
    const object = applyPatch(
      present,
      { type, body: new TextEncoder().encode(text) },
      {
        schema: configMapSchema,
        gvk: configMapKind,
        fieldValidation: 'Warn',
        warn: (warning) => warnings.push(warning),
        ...options,
      },
    );
    expect(JSON.stringify(present)).toBe(before);
    return { object, warnings };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return { error, warnings };
  }
}

const rejected = {
  code: 422,
  reason: 'Invalid',
  message: 'the server rejected our request due to an error in our request',
  details: {},
};

describe('JSON patch', () => {
  it.each<readonly [what: string, operations: unknown, data: unknown]>([
    ['replace', [{ op: 'replace', path: '/data/a', value: '2' }], { a: '2' }],
    ['add', [{ op: 'add', path: '/data/b', value: '3' }], { a: '1', b: '3' }],
    [
      'test that holds, then remove',
      [
        { op: 'test', path: '/data/a', value: '1' },
        { op: 'remove', path: '/data/a' },
      ],
      {},
    ],
    ['move from one place to another', [{ op: 'move', from: '/data/a', path: '/data/z' }], { z: '1' }],
    ['copy', [{ op: 'copy', from: '/data/a', path: '/data/z' }], { a: '1', z: '1' }],
    ['replace of what is not there', [{ op: 'replace', path: '/data/none', value: 'x' }], { a: '1', none: 'x' }],
    ['test of the whole', [{ op: 'test', path: '', value: configMap({ a: '1' }) }], { a: '1' }],
    ['test of absent for null', [{ op: 'test', path: '/data/none', value: null }], { a: '1' }],
    ['empty list', [], { a: '1' }],
    [
      'names that JavaScript knows',
      '[{"op":"add","path":"/data/__proto__","value":"x"},{"op":"test","path":"/data/__proto__","value":"x"}]',
      JSON.parse('{"a":"1","__proto__":"x"}'),
    ],
    ['replace of the whole', [{ op: 'replace', path: '', value: configMap({ w: '1' }) }], { w: '1' }],
  ])('%s', (_what, operations, data) => {
    expect(patch('json', configMap(), operations).object?.data).toEqual(data);
  });

  it('reads ~1 and ~0 in a path', () => {
    const { object } = patch('json', configMap(), [{ op: 'replace', path: '/metadata/annotations/x~1y', value: 'S' }]);
    expect(object?.metadata?.annotations).toEqual({ 'x/y': 'S' });
    // "~01" means "~1" and not a slash.
    const add = [{ op: 'add', path: '/data/a~01b', value: '2' }];
    expect(patch('json', configMap(), add).object?.data).toEqual({ a: '1', 'a~1b': '2' });
  });

  it('counts what all its copies add together', () => {
    const large = 'x'.repeat(200_000);
    const copies = (count: number): unknown =>
      Array.from({ length: count }, (_, i) => ({ op: 'copy', from: '/data/a', path: `/data/c${i}` }));
    expect(Object.keys(patch('json', configMap({ a: large }), copies(15)).object?.data ?? {})).toHaveLength(16);
    expect(patch('json', configMap({ a: large }), copies(16)).error?.status).toMatchObject(rejected);
  });

  it.each<readonly [operations: unknown, finalizers: unknown]>([
    [[{ op: 'add', path: '/metadata/finalizers/-', value: 'c' }], ['a', 'b', 'c']],
    [[{ op: 'add', path: '/metadata/finalizers/0', value: 'c' }], ['c', 'a', 'b']],
    [[{ op: 'add', path: '/metadata/finalizers/2', value: 'c' }], ['a', 'b', 'c']],
    [[{ op: 'add', path: '/metadata/finalizers/-1', value: 'c' }], ['a', 'b', 'c']],
    [[{ op: 'remove', path: '/metadata/finalizers/-1' }], ['a']],
    [[{ op: 'replace', path: '/metadata/finalizers/1', value: 'c' }], ['a', 'c']],
    [[{ op: 'move', from: '/metadata/finalizers/0', path: '/metadata/finalizers/1' }], ['b', 'a']],
  ])('counts the places of a list: %j', (operations, finalizers) => {
    expect(patch('json', configMap({}, { finalizers: ['a', 'b'] }), operations).object?.metadata?.finalizers).toEqual(
      finalizers,
    );
  });

  it.each<readonly [what: string, operations: unknown]>([
    ['test that fails', [{ op: 'test', path: '/data/a', value: '9' }]],
    ['remove of what is not there', [{ op: 'remove', path: '/data/none' }]],
    ['move of what is not there', [{ op: 'move', from: '/data/none', path: '/data/x' }]],
    ['add below what is not there', [{ op: 'add', path: '/none/deep', value: 'x' }]],
    ['unknown op', [{ op: 'double', path: '/data/a' }]],
    ['no path', [{ op: 'add', value: 'x' }]],
    ['index out of range', [{ op: 'add', path: '/metadata/finalizers/3', value: 'c' }]],
    ['index that is no number', [{ op: 'replace', path: '/metadata/finalizers/x', value: 'c' }]],
    ['add of the whole', [{ op: 'add', path: '', value: {} }]],
    ['prototype members are not there', [{ op: 'test', path: '/data/constructor/name', value: 'Object' }]],
    [
      'a long number is not its text',
      '[{"op":"add","path":"/n","value":9007199254740993},{"op":"test","path":"/n","value":"9007199254740993"}]',
    ],
    [
      'copies that double again and again',
      Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/data', path: `/data/x${i}` })),
    ],
    ['copy of the whole', [{ op: 'copy', from: '', path: '/data/z' }]],
    [
      'copy of the whole that goes again',
      [
        { op: 'copy', from: '', path: '/data/z' },
        { op: 'remove', path: '/data/z' },
      ],
    ],
    [
      'moves that nest without end',
      Array.from({ length: 3000 }, () => [
        { op: 'add', path: '/t', value: {} },
        { op: 'move', from: '/data', path: '/t/d' },
        { op: 'move', from: '/t', path: '/data' },
      ]).flat(),
    ],
  ])('%s: 422', (_what, operations) => {
    expect(patch('json', configMap({ a: '1' }, { finalizers: ['a', 'b'] }), operations).error?.status).toMatchObject(
      rejected,
    );
  });

  it.each<readonly [body: unknown, message: string]>([
    [{ data: {} }, 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'],
    ['[{', 'error decoding patch: unexpected end of JSON input'],
    [
      [{ op: 5 }],
      'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string',
    ],
  ])('%j: 400', (body, message) => {
    expect(patch('json', configMap(), body).error?.status).toMatchObject({ code: 400, reason: 'BadRequest', message });
  });

  it('warns of members that no operation has', () => {
    expect(patch('json', configMap(), [{ op: 'test', path: '/data/a', value: '1', why: 'x' }]).warnings).toEqual([
      'json patch unknown field "[0].why"',
    ]);
  });

  it('takes ten thousand operations and no more', () => {
    const operations = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' }));
    expect(patch('json', configMap(), operations.slice(1)).error).toBeUndefined();
    expect(patch('json', configMap(), operations).error?.status).toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    });
  });
});

describe('what a patch leaves must fit the kind', () => {
  const invalid = (shown: string, why: string): unknown => ({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: patch: Invalid value: ${JSON.stringify(shown)}: ${why}`,
    details: {
      causes: [
        { reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(shown)}: ${why}`, field: 'patch' },
      ],
    },
  });
  const bare = (more: object): string => JSON.stringify({ apiVersion: 'v1', ...more });

  it.each<readonly [type: PatchType, body: unknown, error: unknown]>([
    [
      'json',
      [{ op: 'replace', path: '/data/a', value: 5 }],
      invalid(
        bare({ data: { a: 5 }, kind: 'ConfigMap' }),
        'json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
      ),
    ],
    [
      'merge',
      { data: { a: [1] } },
      invalid(
        bare({ data: { a: [1] }, kind: 'ConfigMap' }),
        'json: cannot unmarshal array into Go struct field ConfigMap.data of type string',
      ),
    ],
    [
      'json',
      [
        { op: 'add', path: '/metadata', value: {} },
        { op: 'add', path: '/metadata/uid', value: 1 },
        { op: 'add', path: '/metadata/generation', value: 'x' },
      ],
      invalid(
        '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"generation":"x","uid":1}}',
        'json: cannot unmarshal string into Go struct field ObjectMeta.metadata.generation of type int64',
      ),
    ],
    [
      'merge',
      { metadata: { name: 1, generation: 'x' } },
      invalid(
        '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"generation":"x","name":1}}',
        'json: cannot unmarshal string into Go struct field ObjectMeta.metadata.generation of type int64',
      ),
    ],
    [
      'merge',
      { kind: 'Secret' },
      invalid(bare({ data: { a: '1' }, kind: 'Secret' }), 'illegal base64 data at input byte 0'),
    ],
    [
      'merge',
      { apiVersion: 'v2' },
      invalid(
        '{"apiVersion":"v2","data":{"a":"1"},"kind":"ConfigMap"}',
        'no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
      ),
    ],
    ['strategic', { data: { a: 1 } }, invalid('map[data:map[a:1]]', 'cannot convert int64 to string')],
    ['strategic', { data: { a: 1.5 } }, invalid('map[data:map[a:1.5]]', 'unrecognized type: string')],
    ['strategic', { metadata: { uid: true } }, invalid('map[metadata:map[uid:true]]', 'unrecognized type: string')],
    ['strategic', { data: 'x' }, invalid('map[data:x]', 'cannot restore map from string')],
    ['strategic', { immutable: 'x' }, invalid('map[immutable:x]', 'unrecognized type: bool')],
  ])('%s %j', (type, body, error) => {
    expect(patch(type, { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } }, body).error?.status).toMatchObject(
      error as object,
    );
  });

  it.each<readonly [type: PatchType, body: unknown, shown: string]>([
    ['json', [{ op: 'add', path: '/extra', value: 1 }], '{"apiVersion":"v1","extra":1,"kind":"ConfigMap"}'],
    ['merge', { extra: 1 }, '{"apiVersion":"v1","extra":1,"kind":"ConfigMap"}'],
    ['strategic', { extra: 1 }, 'map[extra:1]'],
  ])('%s: unknown fields are warned of, dropped, or refused with Strict', (type, body, shown) => {
    const present = { apiVersion: 'v1', kind: 'ConfigMap' };
    expect(patch(type, present, body)).toEqual({ object: present, warnings: ['unknown field "extra"'] });
    expect(patch(type, present, body, { fieldValidation: 'Ignore' })).toEqual({ object: present, warnings: [] });
    expect(patch(type, present, body, { fieldValidation: 'Strict' }).error?.status).toMatchObject(
      invalid(shown, 'strict decoding error: unknown field "extra"') as object,
    );
  });

  it('reports repeated fields of the patch', () => {
    expect(patch('merge', configMap(), '{"data":{"a":"1","a":"2"}}').warnings).toEqual(['duplicate field "data.a"']);
    expect(patch('strategic', configMap(), '{"data":{"a":"1","a":"2"}}').warnings).toEqual([
      'duplicate field "data.a"',
    ]);
  });
});

describe('an object that a patch leaves without a version', () => {
  it.each<readonly [type: PatchType, body: unknown]>([
    ['json', [{ op: 'remove', path: '/apiVersion' }]],
    ['merge', { apiVersion: null }],
  ])('%s: loses its name, so that the update is refused', (type, body) => {
    expect(patch(type, configMap(), body, { fieldValidation: 'Ignore' })).toMatchObject({
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} },
      warnings: [],
    });
    expect(patch(type, configMap(), body, { fieldValidation: 'Warn' }).warnings).toEqual([
      'unknown field "data"',
      'unknown field "metadata"',
    ]);
  });

  it('has to be of the kind still', () => {
    const body = { apiVersion: null, kind: 'x' };
    expect(patch('merge', configMap(), body).error?.message).toContain(
      'no kind "x" is registered for the internal version of group "" in scheme "pkg/runtime/scheme.go:111"',
    );
  });
});

describe('merge patch', () => {
  it.each<readonly [what: string, body: unknown, data: unknown]>([
    ['merges', { data: { a: '9', n: 'new' } }, { a: '9', b: '2', n: 'new' }],
    ['null removes', { data: { b: null } }, { a: '1' }],
    ['null removes all', { data: null }, undefined],
    ['null for what is not there', { data: { x: null } }, { a: '1', b: '2' }],
    ['empty', {}, { a: '1', b: '2' }],
    [
      'names that JavaScript knows',
      '{"data":{"__proto__":"x","constructor":"y"}}',
      JSON.parse('{"a":"1","b":"2","__proto__":"x","constructor":"y"}'),
    ],
  ])('%s', (_what, body, data) => {
    expect(patch('merge', configMap({ a: '1', b: '2' }), body).object?.data).toEqual(data);
  });

  it.each<readonly [body: string, message: string]>([
    ['{"data":', 'error decoding patch: unexpected end of JSON input'],
    ['"x"', 'error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}'],
    ['[]', 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['null', 'Invalid JSON Patch'],
  ])('%s: 400', (body, message) => {
    expect(patch('merge', configMap(), body).error?.status).toMatchObject({ code: 400, reason: 'BadRequest', message });
  });

  it('keeps the nulls of lists, and drops those of objects in them', () => {
    const object = { apiVersion: 'e/v1', kind: 'K', spec: {} };
    const schema: SchemaNode = { type: 'object', preserveUnknownFields: true };
    const gvk = { group: 'e', version: 'v1', kind: 'K' };
    const body = { spec: { l: [null, 'x', { y: null, z: 1 }] } };
    expect(patch('merge', object, body, { schema, gvk }).object?.spec).toEqual({ l: [null, 'x', { z: 1 }] });
    const owners = patch('merge', configMap(), { metadata: { ownerReferences: [null] } }).object?.metadata
      ?.ownerReferences;
    expect(owners).toHaveLength(1);
  });

  it('agrees with the definition in RFC 7386, where no lists hold nulls', () => {
    const json = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom('x', 'y', 1, true),
        fc.array(fc.constantFrom('p', 2), { maxLength: 2 }),
        fc.dictionary(
          fc.constantFrom('a', 'b', '__proto__', 'constructor'),
          fc.oneof(tie('value'), fc.constant(null)),
          { noNullPrototype: true, maxKeys: 3 },
        ),
      ),
    })).value;
    const model = (target: unknown, change: unknown): unknown => {
      if (typeof change !== 'object' || change === null || Array.isArray(change)) return change;
      const isObject = typeof target === 'object' && target !== null && !Array.isArray(target);
      const result = new Map(Object.entries(isObject ? target : {}));
      for (const [name, value] of Object.entries(change)) {
        if (value === null) result.delete(name);
        else result.set(name, model(result.get(name), value));
      }
      return Object.fromEntries(result);
    };
    const anyKind: SchemaNode = { type: 'object', preserveUnknownFields: true };
    fc.assert(
      fc.property(json, json, (present, change) => {
        const object = { apiVersion: 'e/v1', kind: 'K', spec: model({}, { v: present }) };
        const gvk = { group: 'e', version: 'v1', kind: 'K' };
        const body = JSON.stringify({ spec: { v: change } });
        const { object: patched } = patch('merge', object, body, { schema: anyKind, gvk });
        expect(patched?.spec).toEqual(model(object.spec, { v: change }));
      }),
    );
  });
});

describe('strategic merge patch', () => {
  const container = (name: string, more: object = {}): Record<string, unknown> => ({ name, image: 'i:1', ...more });
  const deployment = (containers: unknown[], more: object = {}): UnstructuredObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: { replicas: 1, template: { spec: { containers } }, ...more },
  });
  const podPatch = (spec: unknown): unknown => ({ spec: { template: { spec } } });
  const options = { schema: deploymentSchema, gvk: deploymentKind };
  const env = [
    { name: 'X', value: '1' },
    { name: 'Y', value: '2' },
  ];
  const two = [container('a', { env }), container('b')];

  it.each<readonly [what: string, present: unknown[], spec: unknown, containers: unknown]>([
    [
      'an item by its key',
      two,
      { containers: [{ name: 'b', image: 'i:3' }] },
      [two[0], container('b', { image: 'i:3' })],
    ],
    [
      'items of an item',
      two,
      {
        containers: [
          {
            name: 'a',
            env: [
              { name: 'Y', value: '3' },
              { name: 'Z', value: '4' },
            ],
          },
        ],
      },
      [
        container('a', {
          env: [
            { name: 'X', value: '1' },
            { name: 'Y', value: '3' },
            { name: 'Z', value: '4' },
          ],
        }),
        two[1],
      ],
    ],
    ['$patch: delete', two, { containers: [{ name: 'b', $patch: 'delete' }] }, [two[0]]],
    ['a new item comes first', two, { containers: [container('c')] }, [container('c'), ...two]],
    [
      '$setElementOrder',
      [container('c'), container('a')],
      { '$setElementOrder/containers': [{ name: 'a' }, { name: 'c' }], containers: [{ name: 'c', image: 'i:5' }] },
      [container('a'), container('c', { image: 'i:5' })],
    ],
    [
      '$setElementOrder alone',
      two,
      { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] },
      [two[1], two[0]],
    ],
    [
      '$setElementOrder keeps strangers in place',
      [container('a'), container('s'), container('b')],
      { '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }, { name: 'n' }], containers: [container('n')] },
      [container('a'), container('s'), container('b'), container('n')],
    ],
    ['$patch: replace in a list', two, { containers: [container('only'), { $patch: 'replace' }] }, [container('only')]],
    ['null removes a member', [container('a', { env })], { containers: [{ name: 'a', env: null }] }, [container('a')]],
    [
      'an atomic list is replaced',
      [container('a', { args: ['1', '2'] })],
      { containers: [{ name: 'a', args: ['3'] }] },
      [container('a', { args: ['3'] })],
    ],
    [
      'directives in what is new have nothing to act on',
      [],
      { containers: [container('a', { env: [{ name: 'X', $patch: 'delete' }] })] },
      [container('a', { env: [] })],
    ],
  ])('%s', (_what, present, spec, containers) => {
    const { object } = patch('strategic', deployment(present), podPatch(spec), options);
    expect(object).toHaveProperty('spec.template.spec', { containers });
  });

  it.each<readonly [what: string, present: object, body: unknown, spec: object]>([
    [
      '$retainKeys clears the other members',
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
      { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      { strategy: { type: 'Recreate' } },
    ],
    [
      '$patch: delete empties a map',
      { selector: { matchLabels: { a: 'b' } } },
      { selector: { $patch: 'delete' } },
      { selector: {} },
    ],
    [
      'what is new is taken as it is',
      {},
      { selector: { matchLabels: { a: 'b', c: null } } },
      { selector: { matchLabels: { a: 'b' } } },
    ],
  ])('%s', (_what, present, body, spec) => {
    const { object } = patch('strategic', deployment([], present), { spec: body }, options);
    for (const [name, value] of Object.entries(spec)) expect(object?.spec).toHaveProperty(name, value);
  });

  it.each<readonly [what: string, present: object, body: unknown, metadata: object]>([
    [
      'finalizers merge as a set',
      { finalizers: ['a', 'b'] },
      { finalizers: ['c', 'a'] },
      { finalizers: ['c', 'a', 'b'] },
    ],
    [
      '$deleteFromPrimitiveList',
      { finalizers: ['c', 'a', 'b'] },
      { '$deleteFromPrimitiveList/finalizers': ['a'] },
      { finalizers: ['c', 'b'] },
    ],
    ['$deleteFromPrimitiveList of nothing', {}, { '$deleteFromPrimitiveList/finalizers': ['a'] }, {}],
    [
      '$setElementOrder of a set',
      { finalizers: ['a', 'b'] },
      { '$setElementOrder/finalizers': ['b', 'c', 'a'], finalizers: ['c'] },
      { finalizers: ['b', 'c', 'a'] },
    ],
    [
      'owners merge by uid',
      { ownerReferences: [{ uid: 'u1', name: 'o' }] },
      { ownerReferences: [{ uid: 'u2', name: 'p' }] },
      {
        ownerReferences: [
          { uid: 'u2', name: 'p' },
          { uid: 'u1', name: 'o' },
        ],
      },
    ],
    [
      '$patch: replace in a map',
      { labels: { x: '1' } },
      { labels: { $patch: 'replace', y: '2' } },
      { labels: { y: '2' } },
    ],
    ['null removes', { labels: { x: '1' } }, { labels: null }, {}],
  ])('metadata: %s', (_what, present, body, metadata) => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', ...present } };
    expect(patch('strategic', object, { metadata: body }).object?.metadata).toEqual({ name: 'c', ...metadata });
  });

  it('merges the ports of a service by port', () => {
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      spec: {
        ports: [
          { name: 'b', port: 81 },
          { name: 'a', port: 80 },
        ],
      },
    };
    const { object } = patch(
      'strategic',
      service,
      { spec: { ports: [{ port: 81, targetPort: 9 }] } },
      { schema: serviceSchema, gvk: serviceKind },
    );
    expect(object?.spec).toEqual({
      ports: [
        { name: 'b', port: 81, targetPort: 9 },
        { name: 'a', port: 80 },
      ],
    });
  });

  it('takes items of any list of scalars away by $deleteFromPrimitiveList', () => {
    const change = podPatch({ containers: [{ name: 'a', '$deleteFromPrimitiveList/args': ['x'] }] });
    const { object } = patch('strategic', deployment([container('a', { args: ['x', 'y'] })]), change, options);
    expect(object).toMatchObject({ spec: { template: { spec: { containers: [{ name: 'a', args: ['y'] }] } } } });
  });

  it('takes null for a key of its own', () => {
    const { object } = patch(
      'strategic',
      deployment(two),
      podPatch({ containers: [{ name: null, image: 'x' }] }),
      options,
    );
    expect(object).toMatchObject({ spec: { template: { spec: { containers: [{ image: 'x' }, {}, {}] } } } });
  });

  it('cuts a number that is too large to its lowest bits, as the converter does', () => {
    const { object } = patch('strategic', deployment(two), { spec: { replicas: 99_999_999_999 } }, options);
    expect(object).toMatchObject({ spec: { replicas: 1_215_752_191 } });
  });

  it('leaves apiVersion and kind alone', () => {
    expect(patch('strategic', configMap(), { kind: 'Secret', apiVersion: 'v9' }).object).toEqual(configMap());
  });

  it.each<readonly [spec: unknown, code: number, message: string]>([
    [{ containers: [{ image: 'x' }] }, 500, 'map: map[image:x] does not contain declared merge key: name'],
    [
      { containers: [{ name: 'only', $patch: 'nothing' }] },
      500,
      'unknown patch type: nothing in map: map[$patch:nothing name:only]',
    ],
    [{ containers: [{ name: 'a', $patch: 'merge' }] }, 500, 'merging lists cannot yet be specified in the patch'],
    [{ $patch: 'merge' }, 500, 'unknown patch type: merge in map: map[$patch:merge]'],
    [
      { containers: ['x'] },
      500,
      'list element types are not identical: [[map[env:[map[name:X value:1] map[name:Y value:2]] image:i:1 name:a] map[image:i:1 name:b]] [x]]',
    ],
    [
      { '$setElementOrder/containers': [{ name: 'a' }], containers: [{ name: 'b' }] },
      500,
      "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ],
    [{ '$setElementOrder/containers': 'x' }, 500, 'expected a []interface {}, but received a string'],
    [{ containers: [['x']] }, 422, 'the server rejected our request due to an error in our request'],
    [{ containers: [{ name: 'a', $patch: 5 }] }, 500, 'unknown patch type: %!s(int64=5) in map: map[$patch:5 name:a]'],
    [{ '$setElementOrder/containers': ['a'] }, 500, 'value for key 0 is not a map'],
    [{ $setElementOrder: [] }, 400, 'invalid patch format of setElementOrder list'],
    [{ $deleteFromPrimitiveListOf: ['x'] }, 400, 'invalid patch format of primitive list'],
    [{ $retainKeys: 'x' }, 400, 'invalid patch format of retainKeys'],
    [{ $retainKeys: ['volumes'], containers: [] }, 400, 'invalid patch format of retainKeys'],
  ])('%j: %i', (spec, code, message) => {
    expect(patch('strategic', deployment(two), podPatch(spec), options).error?.status).toMatchObject({ code, message });
  });

  it.each<readonly [body: string, message: string]>([
    ['[]', 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['{', 'unexpected end of JSON input'],
  ])('%s: 400', (body, message) => {
    expect(patch('strategic', configMap(), body).error?.status).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message,
    });
  });

  it('changes nothing when the patch is the object itself, or empty', () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', '__proto__'), { maxLength: 4 });
    const objects = fc.record({
      labels: fc.dictionary(fc.constantFrom('k', '__proto__', 'constructor'), fc.string(), { noNullPrototype: true }),
      finalizers: names,
      containers: names.map((all) =>
        all.map((name) => container(name, { env: [{ name, value: name }], args: [name, name] })),
      ),
    });
    fc.assert(
      fc.property(objects, ({ labels, finalizers, containers }) => {
        const object = { ...deployment(containers), metadata: { name: 'd', labels, finalizers } };
        expect(patch('strategic', object, {}, options).object).toEqual(object);
        expect(patch('strategic', object, object, options).object).toEqual(object);
      }),
    );
  });
});

it('reads its body once and can be applied to several objects', () => {
  const body = new TextEncoder().encode('{"data":{"n":"1"}}');
  const patcher = createPatcher(
    { type: 'merge', body },
    { schema: configMapSchema, gvk: configMapKind, fieldValidation: 'Warn', warn: () => undefined },
  );
  expect(runWhole(patcher(configMap({ a: '1' }))).data).toEqual({ a: '1', n: '1' });
  expect(runWhole(patcher(configMap({ b: '1' }))).data).toEqual({ b: '1', n: '1' });
});
