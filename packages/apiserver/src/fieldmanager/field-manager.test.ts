import { type Clock, deepCopy, isStatusError, type Status, systemClock, type UnstructuredObject } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../registry/definition/request-context.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { factTypes } from '../testing/fact-types.ts';
import { applyPatch } from '../testing/whole-work.ts';
import { createApplier } from './apply-request.ts';
import { type ApplyCall, FieldManager } from './field-manager.ts';

const epochMs = 1_704_164_645_000;
const firstTime = '2024-01-02T03:04:05Z';

interface ResourceInit {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: SchemaNode;
  readonly resetFields?: readonly string[][];
}

function definitionOf({ resetFields = [], ...init }: ResourceInit): ResourceDefinition {
  const status = { type: 'strategy', name: 'status', strategy: { resetFields: [['spec']] } };
  return { ...init, strategy: { resetFields }, subresources: [status] } as unknown as ResourceDefinition;
}

const builtin = (group: string, version: string, kind: string, resetFields: string[][] = []): ResourceDefinition => {
  const schema = factTypes.schemaOfKind(group === '' ? version : `${group}/${version}`, kind) as SchemaNode;
  return definitionOf({ group, version, kind, schema, resetFields });
};
const configMaps = builtin('', 'v1', 'ConfigMap');
const deployments = builtin('apps', 'v1', 'Deployment', [['status']]);
const services = builtin('', 'v1', 'Service', [['status']]);

type Verdict = Pick<Status, 'code' | 'message'> & Partial<Status>;

/** One object and its writers: the store as far as field managers see it. */
class World {
  readonly definition: ResourceDefinition;
  readonly manager: FieldManager;
  object: UnstructuredObject | undefined;
  readonly warnings: string[] = [];
  #nowMs = epochMs;

  constructor(definition: ResourceDefinition) {
    this.definition = definition;
    const clock: Clock = { ...systemClock, now: () => this.#nowMs };
    this.manager = new FieldManager({ clock });
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }

  call(
    fieldManager: string,
    more: { subresource?: string; force?: boolean; fieldValidation?: RequestContext['fieldValidation'] } = {},
  ): ApplyCall {
    const warn = (text: string): void => void this.warnings.push(text);
    const context = { fieldManager, fieldValidation: more.fieldValidation ?? 'Warn', warn } as RequestContext;
    return { context, definition: this.definition, subresource: more.subresource ?? '', force: more.force ?? false };
  }

  /** Applies a body without apiVersion and kind. Returns undefined, or the status that refuses it. */
  apply(manager: string, body: object | string, more: Parameters<World['call']>[1] = {}): Verdict | undefined {
    const { group, version, kind } = this.definition;
    const whole = {
      apiVersion: group === '' ? version : `${group}/${version}`,
      kind,
      metadata: { name: 'c' },
      ...(body as object),
    };
    const text = typeof body === 'string' ? body : JSON.stringify(whole);
    const applier = createApplier(this.manager, new TextEncoder().encode(text), this.call(manager, more));
    return this.#attempt(() => runWhole(applier(this.object)));
  }

  create(manager: string, body: object): void {
    const object: UnstructuredObject = {
      apiVersion: 'v1',
      kind: this.definition.kind,
      metadata: { name: 'c' },
      ...body,
    };
    void this.manager.onCreate(object, this.call(manager));
    this.#store(object);
  }

  merge(manager: string, body: object, subresource = ''): void {
    const { group, version, kind, schema } = this.definition;
    const options = { schema, gvk: { group, version, kind }, fieldValidation: 'Warn', warn: () => undefined } as const;
    const patch = { type: 'merge', body: new TextEncoder().encode(JSON.stringify(body)) } as const;
    const present = this.object as UnstructuredObject;
    const next = applyPatch(present, patch, options);
    void this.manager.onUpdate(next, present, this.call(manager, { subresource }));
    this.#store(next);
  }

  #attempt(make: () => UnstructuredObject): Verdict | undefined {
    try {
      this.#store(make());
      return undefined;
    } catch (error) {
      if (!isStatusError(error)) throw error;
      return error.status;
    }
  }

  /** Defaults come after apply; the stored object is in Go form. */
  #store(object: UnstructuredObject): void {
    const name = factTypes.nameOf(object.apiVersion ?? '', object.kind ?? '');
    for (const port of portsOf(object)) port.protocol ??= 'TCP';
    if (name !== undefined) factTypes.normalize(name, object);
    this.object = object;
  }

  /** Returns fieldsV1 by manager: "one", "one/status" for a subresource, "upd (Update)". */
  owners(): Record<string, unknown> {
    const entries = this.object?.metadata?.managedFields ?? [];
    return Object.fromEntries(
      entries.map(({ manager, operation, subresource, fieldsV1 }) => [
        `${manager}${subresource === undefined ? '' : `/${subresource}`}${operation === 'Update' ? ' (Update)' : ''}`,
        fieldsV1,
      ]),
    );
  }
}

function portsOf(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  const { ports } = value as { ports?: Record<string, unknown>[] };
  return [...(Array.isArray(ports) ? ports : []), ...Object.values(value).flatMap(portsOf)];
}

const conflict = (manager: string, field: string): unknown => ({
  reason: 'FieldManagerConflict',
  message: `conflict with ${manager}`,
  field,
});
const labelOwned = { 'f:metadata': { 'f:labels': { 'f:l': {} } } };

describe('server-side apply of a ConfigMap', () => {
  const labels = { metadata: { name: 'c', labels: { l: '1' } } };
  const created = (): World => {
    const world = new World(configMaps);
    expect(world.apply('one', { ...labels, data: { a: '1', b: '1' } })).toBeUndefined();
    return world;
  };

  it('creates the object, its fields owned by the applier', () => {
    const { object } = created();
    expect(object).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'c',
        labels: { l: '1' },
        managedFields: [
          {
            manager: 'one',
            operation: 'Apply',
            apiVersion: 'v1',
            time: firstTime,
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { 'f:a': {}, 'f:b': {} }, ...labelOwned },
          },
        ],
      },
      data: { a: '1', b: '1' },
    });
  });

  it('changes nothing, not even times, when the same is applied again', () => {
    const world = created();
    const before = deepCopy(world.object);
    world.pass(5000);
    world.apply('one', { ...labels, data: { a: '1', b: '1' } });
    expect(world.object).toEqual(before);
  });

  it('follows several managers through shared fields, conflicts, force and hand-over', () => {
    const world = created();
    world.apply('two', { data: { z: '1' } });
    expect(world.owners()).toEqual({
      one: { 'f:data': { 'f:a': {}, 'f:b': {} }, ...labelOwned },
      two: { 'f:data': { 'f:z': {} } },
    });

    world.apply('two', { data: { z: '1', a: '1' } });
    expect(world.owners()).toMatchObject({
      one: { 'f:data': { 'f:a': {}, 'f:b': {} } },
      two: { 'f:data': { 'f:a': {}, 'f:z': {} } },
    });

    expect(world.apply('two', { data: { z: '1', a: '2' } })).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      details: { causes: [conflict('"one"', '.data.a')] },
    });
    expect(world.apply('three', { data: { a: '3', b: '3' } })).toMatchObject({
      code: 409,
      message:
        'Apply failed with 3 conflicts: conflicts with "one":\n- .data.a\n- .data.b\nconflicts with "two":\n- .data.a',
      details: { causes: [conflict('"one"', '.data.a'), conflict('"one"', '.data.b'), conflict('"two"', '.data.a')] },
    });

    world.apply('two', { data: { z: '1', a: '2' } }, { force: true });
    expect(world.owners()).toEqual({
      one: { 'f:data': { 'f:b': {} }, ...labelOwned },
      two: { 'f:data': { 'f:a': {}, 'f:z': {} } },
    });
    expect(world.object?.data).toEqual({ a: '2', b: '1', z: '1' });

    world.apply('one', labels);
    expect(world.owners()).toEqual({ one: labelOwned, two: { 'f:data': { 'f:a': {}, 'f:z': {} } } });
    expect(world.object?.data).toEqual({ a: '2', z: '1' });

    world.merge('upd', { data: { z: '7' } });
    expect(world.owners()).toEqual({
      one: labelOwned,
      two: { 'f:data': { 'f:a': {} } },
      'upd (Update)': { 'f:data': { 'f:z': {} } },
    });

    expect(world.apply('two', { data: { z: '1', a: '2' } })).toMatchObject({
      message: 'Apply failed with 1 conflict: conflict with "upd" using v1: .data.z',
      details: { causes: [conflict('"upd" using v1', '.data.z')] },
    });

    world.apply('two', 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  z: "1"\n', { force: true });
    expect(world.owners()).toEqual({ one: labelOwned, two: { 'f:data': { 'f:z': {} } } });
    expect(world.object?.data).toEqual({ z: '1' });

    world.apply('two', {});
    expect(world.owners()).toEqual({ one: labelOwned });
    expect(world.object).not.toHaveProperty('data');
  });

  it('leaves what others own when a manager lets go of it', () => {
    const world = created();
    world.apply('two', { data: { a: '1' } });
    world.merge('upd', { data: { b: '2' } });
    world.apply('one', labels);
    expect(world.object?.data).toEqual({ a: '1', b: '2' });
  });

  it('removes a field that nobody else owns, but none that was never applied', () => {
    const world = new World(configMaps);
    world.create('kubectl-create', { data: { a: '1' } });
    world.apply('one', { data: { b: '1' } });
    world.apply('one', {});
    expect(world.object?.data).toEqual({ a: '1' });
    expect(world.owners()).toEqual({ 'kubectl-create (Update)': { 'f:data': { '.': {}, 'f:a': {} } } });
  });

  it('keeps names that JavaScript knows', () => {
    const world = new World(configMaps);
    world.apply(
      'one',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"__proto__":"1","constructor":"2"}}',
    );
    expect(Object.keys(world.object?.data as object)).toEqual(['__proto__', 'constructor']);
    expect(world.owners()).toEqual({ one: { 'f:data': { 'f:__proto__': {}, 'f:constructor': {} } } });
    world.apply('one', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"__proto__":"1"}}');
    expect(Object.keys(world.object?.data as object)).toEqual(['__proto__']);
  });

  it.each<readonly [what: string, body: object | string, status: object]>([
    ['no kind', { kind: undefined }, { code: 400, reason: 'BadRequest', message: 'invalid object type: /v1, Kind=' }],
    ['another kind', { kind: 'Secret' }, { code: 400, message: 'invalid object type: /v1, Kind=Secret' }],
    ['no version at all', { apiVersion: 'a/b/c' }, { code: 400, message: 'invalid object type: /, Kind=' }],
    ['another version', { apiVersion: 'v2' }, { code: 400, message: 'invalid object type: /v2, Kind=ConfigMap' }],
    [
      'managedFields',
      { metadata: { name: 'c', managedFields: [{ manager: 'x' }] } },
      { code: 400, message: 'metadata.managedFields must be nil' },
    ],
    [
      'a field of the wrong type',
      { data: { a: 1 } },
      {
        code: 500,
        message:
          'failed to create typed patch object (/c; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}',
      },
    ],
    [
      'an unknown field',
      { nothing: 1 },
      {
        code: 500,
        message:
          'failed to create typed patch object (/c; /v1, Kind=ConfigMap): .nothing: field not declared in schema',
      },
    ],
    [
      'several faults',
      { nothing: 1, immutable: 'x' },
      {
        code: 500,
        message:
          'failed to create typed patch object (/c; /v1, Kind=ConfigMap): errors:\n  .nothing: field not declared in schema\n  .immutable: expected boolean, got &{x}',
      },
    ],
    [
      'a set with a value twice',
      { metadata: { name: 'c', finalizers: ['a', 'a'] } },
      {
        code: 500,
        message:
          'failed to create typed patch object (/c; /v1, Kind=ConfigMap): .metadata.finalizers: duplicate entries for key [="a"]',
      },
    ],
    [
      'a time that is none',
      { metadata: { name: 'c', creationTimestamp: 'x' } },
      {
        code: 500,
        message:
          'failed to convert new object (/c; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
      },
    ],
    [
      'a time that is a number',
      { metadata: { name: 'c', creationTimestamp: 1.5 } },
      {
        code: 500,
        message:
          'failed to convert new object (/c; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: json: cannot unmarshal number into Go value of type string',
      },
    ],
    [
      'a time that is a list',
      { metadata: { name: 'c', creationTimestamp: ['a'] } },
      {
        code: 500,
        message:
          'failed to create typed patch object (/c; /v1, Kind=ConfigMap): .metadata.creationTimestamp: expected any scalar, got &{[a]}',
      },
    ],
    [
      'a number that is a text',
      { metadata: { name: 'c', generation: 'x' } },
      {
        code: 500,
        message:
          'failed to create typed patch object (/c; /v1, Kind=ConfigMap): .metadata.generation: expected numeric (int or float), got string',
      },
    ],
    [
      'bytes that are none',
      { metadata: { name: 'c' }, binaryData: { a: '!!' } },
      {
        code: 500,
        message:
          'failed to convert new object (/c; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: error decoding from json: illegal base64 data at input byte 0',
      },
    ],
    [
      'no YAML',
      '{a: b: c',
      { code: 400, message: expect.stringMatching(/^error decoding YAML: error converting YAML to JSON: yaml: /) },
    ],
    [
      'a list',
      '[]',
      {
        code: 400,
        message:
          'error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}',
      },
    ],
  ])('refuses %s', (_what, body, status) => {
    expect(new World(configMaps).apply('one', body)).toMatchObject(status);
  });

  it('warns of a repeated key, or refuses it with Strict', () => {
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: "1"\n  a: "2"\n';
    const world = new World(configMaps);
    expect(world.apply('m', text)).toBeUndefined();
    expect(world.warnings).toEqual(['line 7: key "a" already set in map']);
    expect(world.object?.data).toEqual({ a: '2' });
    expect(world.apply('m', text, { fieldValidation: 'Strict' })?.message).toBe(
      'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key "a" already set in map',
    );
  });
});

describe('updates', () => {
  it('own raw JSON as one value', () => {
    const world = new World(builtin('apps', 'v1', 'ControllerRevision'));
    world.create('one', { apiVersion: 'apps/v1', data: { a: { b: 1 } }, revision: 1 });
    expect(world.owners()).toEqual({ 'one (Update)': { 'f:data': {}, 'f:revision': {} } });
  });

  it('make the creator own all that it set beyond the empty object', () => {
    const world = new World(configMaps);
    world.create('mine', { metadata: { name: 'fm', labels: { l: '1' }, uid: 'u' }, data: { a: '1' } });
    expect(world.owners()).toEqual({
      'mine (Update)': { 'f:data': { '.': {}, 'f:a': {} }, 'f:metadata': { 'f:labels': { '.': {}, 'f:l': {} } } },
    });
  });

  it('own nothing of what the Go types hold from the start', () => {
    const world = new World(deployments);
    const spec = {
      replicas: 1,
      template: {
        spec: { containers: [{ name: 'a', resources: {}, ports: [{ containerPort: 80, protocol: 'TCP' }] }] },
      },
      strategy: { rollingUpdate: { maxSurge: '25%' } },
    };
    world.create('m', { apiVersion: 'apps/v1', spec });
    expect(world.owners()).toEqual({
      'm (Update)': {
        'f:spec': {
          'f:replicas': {},
          'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} } },
          'f:template': {
            'f:spec': {
              'f:containers': {
                'k:{"name":"a"}': {
                  '.': {},
                  'f:name': {},
                  'f:ports': {
                    '.': {},
                    'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
                  },
                  'f:resources': {},
                },
              },
            },
          },
        },
      },
    });
  });

  it('take over what they change, lose what they remove, and date only changes', () => {
    const world = new World(configMaps);
    world.create('a', { data: { x: '1', y: '1' } });
    world.pass(60_000);
    world.merge('b', { data: { x: '2', y: null } });
    world.merge('c', { data: { x: '2' } });
    expect(world.object?.metadata?.managedFields).toMatchObject([
      { manager: 'a', time: firstTime, fieldsV1: { 'f:data': {} } },
      { manager: 'b', time: '2024-01-02T03:05:05Z', fieldsV1: { 'f:data': { 'f:x': {} } } },
    ]);
  });

  it('keep the entries apart by subresource and ignore what the endpoint resets', () => {
    const world = new World(deployments);
    world.create('m', { apiVersion: 'apps/v1', spec: { replicas: 1 } });
    world.merge('m', { status: { replicas: 3 }, spec: { replicas: 9 } }, 'status');
    world.merge('n', { status: { replicas: 4 } });
    expect(world.owners()).toEqual({
      'm (Update)': { 'f:spec': { 'f:replicas': {} } },
      'm/status (Update)': { 'f:status': { 'f:replicas': {} } },
    });
  });

  it('are not reset through a subresource', () => {
    const world = new World(deployments);
    world.create('m', { apiVersion: 'apps/v1', spec: { replicas: 1 } });
    const owners = world.owners();
    world.merge('m', { metadata: { managedFields: [{}] } }, 'status');
    expect(world.owners()).toEqual(owners);
  });

  it.each([[[{}]], [[]]])('end the tracking when a client sends %j, until something is applied', (managedFields) => {
    const world = new World(configMaps);
    world.create('mine', { data: { a: '1' } });
    world.merge('x', { metadata: { managedFields } });
    expect(world.object?.metadata).not.toHaveProperty('managedFields');
    world.merge('later', { data: { b: '2' } });
    expect(world.object?.metadata).not.toHaveProperty('managedFields');
    expect(world.apply('one', { data: { a: '2' } })?.message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
    );
    world.apply('one', { data: { a: '1' } });
    expect(world.owners()).toEqual({
      'before-first-apply (Update)': { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } },
      one: { 'f:data': { 'f:a': {} } },
    });
  });

  it('keep the stored entries when a client sends none or malformed ones, and take others', () => {
    const world = new World(configMaps);
    world.create('mine', { data: { a: '1' } });
    const stored = world.object?.metadata?.managedFields;
    world.merge('x', { metadata: { managedFields: null } });
    expect(world.object?.metadata?.managedFields).toEqual(stored);
    world.merge('x', {
      metadata: { managedFields: [{ manager: 'y', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV2' }] },
    });
    expect(world.object?.metadata?.managedFields).toEqual(stored);
    world.merge('x', {
      metadata: {
        managedFields: [
          {
            manager: 'y',
            operation: 'Update',
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { 'f:a': {} } },
          },
        ],
      },
    });
    expect(world.owners()).toEqual({ 'y (Update)': { 'f:data': { 'f:a': {} } } });
  });

  it('merge the oldest of more than ten updaters', () => {
    const world = new World(configMaps);
    world.create('m0', { data: { k0: '0' } });
    for (let i = 1; i <= 12; i++) {
      world.pass(1000);
      world.merge(`m${i}`, { data: { [`k${i}`]: '1' } });
    }
    const owners = world.owners();
    expect(Object.keys(owners)).toHaveLength(10);
    expect(owners['ancient-changes (Update)']).toEqual({
      'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {}, 'f:k3': {} },
    });
    expect(owners).not.toHaveProperty('m3 (Update)');
    expect(owners).toHaveProperty('m4 (Update)');
  });
});

describe('lists and atomic fields of built-in kinds', () => {
  const base = { selector: { matchLabels: { app: 'd' } } };
  const template = (...containers: object[]): object => ({ metadata: { labels: { app: 'd' } }, spec: { containers } });
  const spec = (...containers: object[]): object => ({ spec: { ...base, template: template(...containers) } });
  const ownedSpec = (containers: object): object => ({
    'f:spec': {
      'f:selector': {},
      'f:template': { 'f:metadata': { 'f:labels': { 'f:app': {} } }, 'f:spec': { 'f:containers': containers } },
    },
  });
  const a = { name: 'a', image: 'i:1', env: [{ name: 'E', value: '1' }], ports: [{ containerPort: 80 }] };
  const ownedA = {
    'k:{"name":"a"}': {
      '.': {},
      'f:env': { 'k:{"name":"E"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
      'f:image': {},
      'f:name': {},
      'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
    },
  };
  const ownedPlain = (name: string): object => ({ [`k:{"name":"${name}"}`]: { '.': {}, 'f:image': {}, 'f:name': {} } });
  const containersOf = (world: World): unknown =>
    (
      world.object as { spec: { template: { spec: { containers: { name: string }[] } } } }
    ).spec.template.spec.containers.map(({ name }) => name);

  it('merges containers of several managers by name', () => {
    const world = new World(deployments);
    world.apply('one', spec(a, { name: 'b', image: 'i:1' }));
    expect(world.owners()).toEqual({ one: ownedSpec({ ...ownedA, ...ownedPlain('b') }) });
    world.apply('two', spec({ name: 'c', image: 'i:2' }));
    expect(containersOf(world)).toEqual(['a', 'b', 'c']);
    expect(world.owners()).toEqual({
      one: ownedSpec({ ...ownedA, ...ownedPlain('b') }),
      two: ownedSpec(ownedPlain('c')),
    });
    world.apply('one', spec(a));
    expect(containersOf(world)).toEqual(['a', 'c']);
    expect(world.owners()).toEqual({ one: ownedSpec(ownedA), two: ownedSpec(ownedPlain('c')) });

    expect(world.apply('two', spec({ name: 'c', image: 'i:2' }, { name: 'a', image: 'i:9' }))?.message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.template.spec.containers[name="a"].image',
    );
    world.merge('kubectl-edit', { spec: { replicas: 5 } });
    expect(
      world.apply('one', { spec: { ...base, replicas: 2, template: template({ name: 'a', image: 'i:1' }) } })?.message,
    ).toBe('Apply failed with 1 conflict: conflict with "kubectl-edit" using apps/v1: .spec.replicas');
    expect(world.apply('one', spec({ name: 'a', image: 'i:1' }, { name: 'a', image: 'i:2' }))).toMatchObject({
      code: 500,
      message:
        'failed to create typed patch object (/c; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="a"]',
    });
  });

  it('takes a missing key of an item for its zero value', () => {
    const world = new World(deployments);
    world.apply('one', spec(a));
    world.apply('two', spec({ name: 'c', image: 'i:2' }));
    world.apply('one', spec({ image: 'i:1' }));
    expect(containersOf(world)).toEqual(['c', '']);
  });

  it('keeps status out of what the main resource owns, and names the subresource', () => {
    const world = new World(deployments);
    world.apply('st', { metadata: { name: 'd', labels: { s: '1' } }, status: { replicas: 3 } });
    expect(world.owners()).toEqual({ st: { 'f:metadata': { 'f:labels': { 'f:s': {} } } } });
    const condition = { type: 'Available', status: 'True', lastUpdateTime: firstTime, lastTransitionTime: firstTime };
    world.apply(
      'st',
      { metadata: { name: 'd' }, status: { replicas: 3, conditions: [condition] } },
      { subresource: 'status' },
    );
    expect(world.owners()).toEqual({
      st: { 'f:metadata': { 'f:labels': { 'f:s': {} } } },
      'st/status': {
        'f:status': {
          'f:conditions': {
            'k:{"type":"Available"}': {
              '.': {},
              'f:lastTransitionTime': {},
              'f:lastUpdateTime': {},
              'f:status': {},
              'f:type': {},
            },
          },
          'f:replicas': {},
        },
      },
    });
  });

  it('owns items of a set one by one', () => {
    const finalizers = (...values: string[]): object => ({ metadata: { name: 'f', finalizers: values } });
    const world = new World(configMaps);
    world.apply('one', finalizers('example.com/a'));
    world.apply('two', finalizers('example.com/b'));
    expect(world.object?.metadata?.finalizers).toEqual(['example.com/a', 'example.com/b']);
    expect(world.owners()).toEqual({
      one: { 'f:metadata': { 'f:finalizers': { 'v:"example.com/a"': {} } } },
      two: { 'f:metadata': { 'f:finalizers': { 'v:"example.com/b"': {} } } },
    });
    world.apply('one', { metadata: { name: 'f' } });
    expect(world.object?.metadata?.finalizers).toEqual(['example.com/b']);
    expect(Object.keys(world.owners())).toEqual(['two']);
  });

  it('owns an atomic map as a whole', () => {
    const world = new World(services);
    world.apply('one', { spec: { clusterIP: 'None', selector: { a: '1' }, ports: [{ port: 80 }] } });
    expect(world.owners()).toEqual({
      one: {
        'f:spec': {
          'f:clusterIP': {},
          'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
          'f:selector': {},
        },
      },
    });
    expect(world.apply('two', { spec: { selector: { b: '2' } } })?.message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.selector',
    );
    world.apply('two', { spec: { selector: { b: '2' } } }, { force: true });
    expect(world.object).toHaveProperty('spec.selector', { b: '2' });
    expect(world.owners()).toMatchObject({
      one: { 'f:spec': { 'f:clusterIP': {} } },
      two: { 'f:spec': { 'f:selector': {} } },
    });
  });
});

describe('custom resources', () => {
  const text: SchemaNode = { type: 'string' };
  const object = (properties: Record<string, SchemaNode>, more: SchemaNode = {}): SchemaNode => ({
    type: 'object',
    properties: new Map(Object.entries(properties)),
    ...more,
  });
  const schema = object({
    spec: object({
      set: { type: 'array', listType: 'set', items: text },
      map: { type: 'array', listType: 'map', listMapKeys: ['k'], items: object({ k: text, v: text }) },
      atom: { type: 'array', listType: 'atomic', items: text },
      amap: { type: 'object', mapType: 'atomic', additionalProperties: text },
      gmap: { type: 'object', additionalProperties: text },
      any: { type: 'object', preserveUnknownFields: true },
      pod: { type: 'object', preserveUnknownFields: true, embeddedResource: true },
    }),
  });
  const sets = definitionOf({ group: 'example.com', version: 'v1', kind: 'Set', schema });
  const all = { set: ['a'], map: [{ k: '1', v: 'x' }], atom: ['p'], amap: { a: '1' }, gmap: { a: '1' } };
  const created = (): World => {
    const world = new World(sets);
    world.apply('one', { spec: all });
    world.apply('two', { spec: { set: ['b'], map: [{ k: '2', v: 'y' }], gmap: { b: '2' } } });
    return world;
  };

  it('own their lists and maps as their schema says', () => {
    const world = created();
    expect(world.object?.spec).toEqual({
      set: ['a', 'b'],
      map: [
        { k: '1', v: 'x' },
        { k: '2', v: 'y' },
      ],
      atom: ['p'],
      amap: { a: '1' },
      gmap: { a: '1', b: '2' },
    });
    expect(world.owners()).toEqual({
      one: {
        'f:spec': {
          'f:amap': {},
          'f:atom': {},
          'f:gmap': { 'f:a': {} },
          'f:map': { 'k:{"k":"1"}': { '.': {}, 'f:k': {}, 'f:v': {} } },
          'f:set': { 'v:"a"': {} },
        },
      },
      two: {
        'f:spec': {
          'f:gmap': { 'f:b': {} },
          'f:map': { 'k:{"k":"2"}': { '.': {}, 'f:k': {}, 'f:v': {} } },
          'f:set': { 'v:"b"': {} },
        },
      },
    });
  });

  it('own the members of a map that takes the place of another value, where anything goes', () => {
    const world = new World(sets);
    world.create('one', { apiVersion: 'example.com/v1', spec: { any: { x: [1], y: { a: 1 } } } });
    world.merge('two', { spec: { any: { x: { b: 2 }, y: 'text' } } });
    expect(world.owners()['two (Update)']).toEqual({
      'f:spec': { 'f:any': { 'f:x': { '.': {}, 'f:b': {} }, 'f:y': {} } },
    });
    expect(world.owners()['one (Update)']).toEqual({ 'f:spec': { '.': {}, 'f:any': {} } });
  });

  it('lose their managers where a part contradicts the schema, or the kind is another', () => {
    const custom = { ...sets, isCustom: true };
    const good = { apiVersion: 'example.com/v1', spec: { set: ['a'] } };
    for (const bad of [{ spec: { set: 'a' } }, { kind: 'Other' }]) {
      const world = new World(custom);
      world.create('one', { ...good, ...bad });
      expect(world.owners()).toEqual({});
      world.create('one', good);
      expect(Object.keys(world.owners())).toEqual(['one (Update)']);
      world.merge('two', bad);
      expect(world.owners()).toEqual({});
    }
  });

  it('conflict by item and by whole, and let go of both', () => {
    const world = created();
    expect(world.apply('two', { spec: { map: [{ k: '1', v: 'z' }] } })?.message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.map[k="1"].v',
    );
    expect(world.apply('two', { spec: { atom: ['q'], amap: { b: '1' } } })?.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.amap\n- .spec.atom',
    );
    world.apply('two', { spec: { atom: ['q'], amap: { b: '1' } } }, { force: true });
    expect(world.object?.spec).toEqual({
      amap: { b: '1' },
      atom: ['q'],
      gmap: { a: '1' },
      map: [{ k: '1', v: 'x' }],
      set: ['a'],
    });
    world.apply('one', { spec: { map: [] } });
    expect(world.object?.spec).toEqual({ amap: { b: '1' }, atom: ['q'] });
    expect(world.owners()).toEqual({ two: { 'f:spec': { 'f:amap': {}, 'f:atom': {} } } });
  });

  it.each<readonly [spec: object, fault: string]>([
    [{ nope: 1 }, '.spec.nope: field not declared in schema'],
    [{ set: 'a' }, '.spec.set: expected list, got &{a}'],
    [
      { map: [{ v: '1' }] },
      '.spec.map: element 0: associative list with keys has an element that omits all key fields ["k"] (and doesn\'t have default values for any key fields)',
    ],
    [{ map: [null] }, '.spec.map: element 0: associative list with keys may not have a null element'],
    [{ gmap: ['x'] }, '.spec.gmap: expected map, got &{[x]}'],
    [{ pod: { metadata: { nope: 1 }, other: 1 } }, '.spec.pod.metadata.nope: field not declared in schema'],
  ])('refuse %j', (spec, fault) => {
    expect(new World(sets).apply('one', { spec })?.message).toBe(
      `failed to create typed patch object (/c; example.com/v1, Kind=Set): ${fault}`,
    );
  });

  it('know an item by those of its keys that it has, or has by default', () => {
    const item = object({ k: { type: 'string' }, p: { type: 'integer', default: 1 }, v: { type: 'string' } });
    const map: SchemaNode = { type: 'array', listType: 'map', listMapKeys: ['k', 'p'], items: item };
    const keyed = definitionOf({ group: 'example.com', version: 'v1', kind: 'Keyed', schema: object({ map }) });
    const world = new World(keyed);
    world.apply('one', { map: [{ v: 'x' }, { k: 'a' }] });
    expect(world.owners().one).toEqual({
      'f:map': { 'k:{"p":1}': { '.': {}, 'f:v': {} }, 'k:{"k":"a","p":1}': { '.': {}, 'f:k': {} } },
    });
  });

  it('have null where an owner lets go of all members of a map and keeps the map', () => {
    const world = new World(sets);
    world.apply('one', { spec: { gmap: { a: '1' } } });
    world.apply('one', { spec: { gmap: {} } });
    expect(world.object?.spec).toEqual({ gmap: null });
  });

  it('own as a whole what their schema has made atomic since', () => {
    const world = new World(sets);
    world.apply('one', { spec: { gmap: { a: '1' }, map: [{ k: '1' }] } });
    const atomic = object({
      spec: object({
        gmap: { type: 'object', mapType: 'atomic', additionalProperties: text },
        map: { type: 'array', items: object({ k: text }) },
      }),
    });
    const changed = new World(definitionOf({ group: 'example.com', version: 'v1', kind: 'Set', schema: atomic }));
    changed.object = world.object;
    expect(changed.apply('two', { spec: { gmap: { b: '1' } } })?.message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.gmap',
    );
    changed.apply('two', { metadata: { name: 'c', labels: { l: '1' } } });
    expect(changed.owners()).toMatchObject({ one: { 'f:spec': { 'f:gmap': {}, 'f:map': {} } } });
  });

  it('own fields without a schema by their form', () => {
    const world = new World(sets);
    world.apply('one', { spec: { any: { x: { y: [1, { z: 2 }] }, e: {} } } });
    expect(world.owners()).toEqual({ one: { 'f:spec': { 'f:any': { 'f:e': {}, 'f:x': { '.': {}, 'f:y': {} } } } } });
  });

  it('keep the order of the applied list, with others between where they stood', () => {
    const items = (...keys: string[]): object => ({ spec: { map: keys.map((k) => ({ k })) } });
    const world = new World(sets);
    world.apply('one', items('a', 'b', 'c'));
    world.apply('two', items('x'));
    world.apply('one', items('c', 'a', 'n', 'b'));
    expect(world.object?.spec).toEqual({ map: [{ k: 'c' }, { k: 'x' }, { k: 'a' }, { k: 'n' }, { k: 'b' }] });
  });
});

describe('kubectl', () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
  const lastApplied = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c' },
    data: { a: '1' },
  });
  const clientSide = (): World => {
    const world = new World(configMaps);
    world.create('kubectl-client-side-apply', {
      metadata: { name: 'c', annotations: { [annotation]: lastApplied } },
      data: { a: '1', b: '1' },
    });
    return world;
  };

  it('takes over without conflict what it applied from the client before, and keeps the annotation in step', () => {
    const world = clientSide();
    expect(world.apply('kubectl', { data: { b: '<2>', a: '2' } })?.message).toContain('.data.b');
    expect(world.apply('kubectl', { data: { a: '2' } })).toBeUndefined();
    expect(world.object?.metadata?.annotations?.[annotation]).toBe(
      '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"c"}}\n',
    );
    expect(world.apply('kubectl', { data: { c: '<&>', a: '3' } })).toBeUndefined();
    expect(world.object?.metadata?.annotations?.[annotation]).toContain('"data":{"a":"3","c":"\\u003c\\u0026\\u003e"}');
    expect(world.apply('kubectl', { data: { a: '2', b: '2' } })?.message).toContain('.data.b');
  });

  it('alone may do so', () => {
    expect(clientSide().apply('other', { data: { a: '2' } })?.code).toBe(409);
  });
});
