import type { UnstructuredObject } from '@kapstan/api';
import type { ResourceDefinition, ResourceStore } from '@kapstan/apiserver';
import type { ObjectSubresource } from '@kapstan/apiserver/internal';
import { refusal, testContext } from '@kapstan/apiserver/testing';
import type { CustomResourceDefinitionVersion, JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clusterContext, DefinitionFixture, widget, widgets } from '../testing/definition-fixture.ts';
import { customResource } from './custom-resource.ts';
import { deprecationWarning } from './deprecation-warning.ts';

let fixture: DefinitionFixture;
beforeEach(async () => {
  fixture = await DefinitionFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

const schema: JSONSchemaProps = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: { type: 'integer' },
        color: { type: 'string', default: 'red' },
        size: { type: 'integer', maximum: 10 },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
        names: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
      },
    },
    status: {
      type: 'object',
      properties: {
        phase: { type: 'string', enum: ['Up', 'Down'] },
        replicas: { type: 'integer' },
        selector: { type: 'string' },
      },
    },
  },
};

const scale = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};
const full: Partial<CustomResourceDefinitionVersion> = {
  schema: { openAPIV3Schema: schema },
  subresources: { status: {}, scale },
  selectableFields: [{ jsonPath: '.spec.color' }],
};

interface Served {
  readonly definition: ResourceDefinition<UnstructuredObject>;
  readonly store: ResourceStore<UnstructuredObject>;
}

async function serve(version: Partial<CustomResourceDefinitionVersion> = full): Promise<Served> {
  await fixture.establish(widgets({ version }));
  const served = fixture.catalog.find('example.com', 'v1', 'widgets');
  if (served === undefined) throw new Error('widgets are not served');
  return served;
}

/** Creates like a client: decoded objects have their defaults before they reach the store. */
async function create({ definition, store }: Served, object: UnstructuredObject): Promise<UnstructuredObject> {
  definition.applyDefaults(object);
  return (await store.create(testContext(), object)).object as UnstructuredObject;
}

async function change(
  { definition, store }: Served,
  apply: (object: UnstructuredObject) => void,
  subresource = '',
): Promise<UnstructuredObject> {
  const part = definition.subresources.find(({ name }) => name === subresource);
  const { stored } = await store.update(testContext(), {
    name: 'a',
    subresource,
    ...(part?.type === 'strategy' ? { strategy: part.strategy } : {}),
    transform: (present) => {
      if (present === undefined) throw new Error('a is not there');
      apply(present);
      definition.applyDefaults(present);
      return present;
    },
  });
  return stored.object as UnstructuredObject;
}

describe('a custom resource with a status', () => {
  it('is created without one, with its defaults, in generation 1', async () => {
    const object = await create(await serve(), widget('a', { spec: { size: 1 }, status: { phase: 'Up' } }));
    expect(object).toMatchObject({ metadata: { generation: 1 }, spec: { size: 1, color: 'red' } });
    expect(object.status).toBeUndefined();
  });

  it('changes its status at /status, and nothing else', async () => {
    const served = await serve();
    await create(served, widget('a', { spec: { size: 1 } }));
    const next = await change(
      served,
      (object) => {
        object.metadata = { ...object.metadata, labels: { a: 'b' } };
        object.spec = { size: 9 };
        object.status = { phase: 'Up' };
      },
      'status',
    );
    expect(next).toMatchObject({ metadata: { generation: 1 }, spec: { size: 1 }, status: { phase: 'Up' } });
    expect(next.metadata?.labels).toBeUndefined();
  });

  it('keeps its status elsewhere, and counts changes of the rest', async () => {
    const served = await serve();
    await create(served, widget('a', { spec: { size: 1 } }));
    await change(served, (object) => (object.status = { phase: 'Up' }), 'status');
    const next = await change(served, (object) =>
      Object.assign(object, { spec: { size: 2 }, status: { phase: 'Down' } }),
    );
    expect(next).toMatchObject({ metadata: { generation: 2 }, spec: { size: 2 }, status: { phase: 'Up' } });
    const labelled = await change(served, (object) => (object.metadata = { ...object.metadata, labels: { a: 'b' } }));
    expect(labelled.metadata?.generation).toBe(2);
  });

  it('is checked at both ends', async () => {
    const served = await serve();
    await create(served, widget('a'));
    const status = await refusal(change(served, (object) => (object.status = { phase: 'Sideways' }), 'status'));
    expect(status.status.message).toBe(
      'Widget.example.com "a" is invalid: status.phase: Unsupported value: "Sideways": supported values: "Up", "Down"',
    );
    const typed = await refusal(change(served, (object) => (object.status = { phase: 5 }), 'status'));
    expect(typed.status.message).toContain(
      'status.phase: Invalid value: "integer": phase in body must be of type string',
    );
    const spec = await refusal(change(served, (object) => (object.spec = { size: 11 })));
    expect(spec.status.details?.causes?.[0]?.field).toBe('spec.size');
  });
});

it('without a status endpoint the status is content like any other', async () => {
  const served = await serve({ schema: { openAPIV3Schema: schema } });
  const created = await create(served, widget('a', { status: { phase: 'Up' } }));
  expect(created.status).toEqual({ phase: 'Up' });
  const next = await change(served, (object) => (object.status = { phase: 'Down' }));
  expect(next).toMatchObject({ metadata: { generation: 2 }, status: { phase: 'Down' } });
});

describe('what is wrong already', () => {
  const looser = (): Partial<CustomResourceDefinitionVersion> => ({
    schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  });
  const tighten = async (): Promise<Served> => {
    const before = fixture.catalog.find('example.com', 'v1', 'widgets');
    await fixture.update('widgets.example.com', ({ spec }) => {
      const [version] = spec.versions;
      if (version) version.schema = { openAPIV3Schema: schema };
    });
    await fixture.untilCatalog(() => fixture.catalog.find('example.com', 'v1', 'widgets') !== before);
    return fixture.catalog.find('example.com', 'v1', 'widgets') as Served;
  };

  it('may stay while other things change', async () => {
    await create(await serve(looser()), widget('a', { spec: { size: 99, names: ['x', 'x'] } }));
    const served = await tighten();
    const next = await change(served, (object) => ((object.spec as Record<string, unknown>).color = 'blue'));
    expect(next.spec).toEqual({ size: 99, names: ['x', 'x'], color: 'blue' });
    const error = await refusal(change(served, (object) => ((object.spec as Record<string, unknown>).size = 98)));
    expect(error.status.details?.causes?.map(({ field }) => field)).toEqual(['spec.size']);
  });

  it('may keep repeating itself in lists that did', async () => {
    await create(await serve(looser()), widget('a', { spec: { names: ['x', 'x'] } }));
    const served = await tighten();
    const next = await change(served, (object) => (object.spec = { names: ['x', 'x', 'y', 'y'] }));
    expect(next.spec).toMatchObject({ names: ['x', 'x', 'y', 'y'] });
    await change(served, (object) => (object.spec = { names: ['x'] }));
    const error = await refusal(change(served, (object) => (object.spec = { names: ['x', 'x'] })));
    expect(error.status.details?.causes?.[0]?.field).toBe('spec.names[1]');
  });
});

describe('an embedded object', () => {
  const template = (fields: Record<string, unknown>): UnstructuredObject =>
    widget('a', { spec: { template: { apiVersion: 'v1', kind: 'Pod', ...fields } } });

  it.each<[string, Record<string, unknown>, string, string]>([
    [
      'a version with too many parts',
      { apiVersion: 'a/b/c' },
      'spec.template.apiVersion',
      'unexpected GroupVersion string: a/b/c',
    ],
    ['an empty kind', { kind: '' }, 'spec.template.kind', 'Invalid value: "": must not be empty'],
    ['a kind that is a number', { kind: 5 }, 'spec.template.kind', 'Invalid value: 5: must be a string'],
    [
      'a kind that is no label',
      { kind: 'a b' },
      'spec.template.kind',
      'may have mixed case, but should otherwise match',
    ],
    [
      'a label that is none',
      { metadata: { labels: { 'a b': 'c' } } },
      'spec.template.metadata.labels',
      'name part must consist of',
    ],
    [
      'a name that is no path segment',
      { metadata: { name: 'a/b' } },
      'spec.template.metadata.name',
      "may not contain '/'",
    ],
  ])('must not have %s', async (_what, fields, field, text) => {
    const error = await refusal(create(await serve(), template(fields)));
    const [cause] = error.status.details?.causes ?? [];
    expect(cause?.field).toBe(field);
    expect(cause?.message).toContain(text);
  });

  it('needs neither name nor namespace', async () => {
    const object = await create(await serve(), template({ metadata: { labels: { a: 'b' } } }));
    expect(object.spec).toMatchObject({ template: { metadata: { labels: { a: 'b' } } } });
  });
});

describe('the scale of a custom resource', () => {
  const scaleOf = ({ definition }: Served): ObjectSubresource<UnstructuredObject> =>
    definition.subresources.find(({ name }) => name === 'scale') as ObjectSubresource<UnstructuredObject>;
  const set = (served: Served, fields: Record<string, unknown>): Promise<unknown> =>
    scaleOf(served).update?.(served.store, testContext(), {
      name: 'a',
      change: async (present) => ({ ...present, ...fields }) as UnstructuredObject,
    }) as Promise<unknown>;

  it('shows and changes what its paths lead to', async () => {
    const served = await serve();
    await create(served, widget('a', { spec: { replicas: 2 } }));
    await change(served, (object) => (object.status = { replicas: 1, selector: 'app=a' }), 'status');
    const shown = await scaleOf(served).get?.(served.store, testContext(), 'a');
    expect(shown).toMatchObject({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'a', namespace: 'default' },
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'app=a' },
    });
    expect(await set(served, { spec: { replicas: 5 } })).toMatchObject({
      spec: { replicas: 5 },
      status: { replicas: 1 },
    });
    const { object } = await served.store.get(testContext(), 'a');
    expect(object).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 5, color: 'red' } });
  });

  it('is refused as the resource would be', async () => {
    const served = await serve();
    await create(served, widget('a', { spec: { replicas: 2 } }));
    const error = await refusal(set(served, { spec: { replicas: -5 } }));
    expect(error.status.message).toBe(
      'Widget.example.com "a" is invalid: .spec.replicas: Invalid value: -5: should be a non-negative integer',
    );
    const stale = await refusal(set(served, { metadata: { resourceVersion: '1' }, spec: { replicas: 3 } }));
    expect(stale.status.reason).toBe('Conflict');
  });

  it('does not exist where nothing says how many', async () => {
    const served = await serve();
    await create(served, widget('a'));
    const error = await refusal(scaleOf(served).get?.(served.store, testContext(), 'a') as Promise<unknown>);
    expect(error.status).toMatchObject({ code: 500 });
    expect(error.status.message).toContain('the spec replicas field ".spec.replicas" does not exist');
    const empty = await refusal(set(served, {}));
    expect(empty.status).toMatchObject({
      code: 400,
      message: 'the spec replicas field ".spec.replicas" cannot be empty',
    });
    expect(await set(served, { spec: { replicas: 1 } })).toMatchObject({ spec: { replicas: 1 } });
  });

  it('limits the resource itself', async () => {
    const served = await serve({
      subresources: { scale },
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    });
    for (const [replicas, text] of [
      [2 ** 31, 'should be less than or equal to 2147483647'],
      ['many', '.spec.replicas accessor error: many is of the type string, expected int64'],
    ] as const) {
      const error = await refusal(create(served, widget('a', { spec: { replicas } })));
      expect(error.status.details?.causes?.[0]?.message).toContain(text);
    }
  });
});

describe('fields to select by', () => {
  it('are those of the definition and the names', async () => {
    const served = await serve();
    await create(served, widget('a', { spec: { color: 'blue' } }));
    await create(served, widget('b'));
    const names = async (fieldSelector: string): Promise<unknown> =>
      (await served.store.list(testContext(), { fieldSelector })).items.map(({ object }) => object.metadata?.name);
    expect(await names('spec.color=blue')).toEqual(['a']);
    expect(await names('spec.color!=blue,metadata.name=b')).toEqual(['b']);
    const error = await refusal(served.store.list(testContext(), { fieldSelector: 'spec.size=1' }));
    expect(error.status).toMatchObject({ code: 400, message: 'field label not supported: spec.size' });
  });
});

describe('versions that know different fields', () => {
  const knows = (name: string, more: JSONSchemaProps = {}): { openAPIV3Schema: JSONSchemaProps } => ({
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { [name]: { type: 'string', ...more } } } },
    },
  });
  const definition = widgets({
    versions: [
      { name: 'v1', schema: knows('a') },
      { name: 'v2', schema: knows('b', { default: 'bee' }) },
      { name: 'v3' },
    ],
  });
  const versionOf = (index: number) =>
    customResource({
      definition,
      version: definition.spec.versions[index] as CustomResourceDefinitionVersion,
      names: definition.spec.names,
      isTerminating: () => false,
    }).convert;
  const spec = { a: '1', b: '2', c: 3 };

  // The recording shows that objects created in v2 and v3 are read without fields that v1, the stored version, does not know.
  it('store what the stored version knows, and show of it what they know themselves, without defaults of their own', () => {
    const stored = versionOf(2)?.toStored(widget('w', { apiVersion: 'example.com/v3', spec: { ...spec } }));
    expect(stored).toMatchObject({ apiVersion: 'example.com/v1', spec: { a: '1' } });
    expect(stored?.spec).toEqual({ a: '1' });
    const shown = [0, 1, 2].map((index) => versionOf(index)?.fromStored(structuredClone(stored) as UnstructuredObject));
    expect(shown.map((object) => [object?.apiVersion, object?.spec])).toEqual([
      ['example.com/v1', { a: '1' }],
      ['example.com/v2', {}],
      ['example.com/v3', { a: '1' }],
    ]);
  });

  it('read what was stored in another version by the schema of that one', () => {
    const old = widget('w', { apiVersion: 'example.com/v2', spec: { a: '1' } });
    expect(versionOf(2)?.fromStored(old)).toMatchObject({ apiVersion: 'example.com/v3', spec: { b: 'bee' } });
    expect(old.spec).toEqual({ b: 'bee' });
  });
});

describe('a version', () => {
  it('that is deprecated says so, and names the newest one that is not', () => {
    const definition = widgets({
      versions: [{ name: 'v1beta1', deprecated: true }, { name: 'v1' }, { name: 'v2' }, { name: 'v3', served: false }],
    });
    const warn = (index: number): string =>
      deprecationWarning(definition, definition.spec.versions[index] as CustomResourceDefinitionVersion);
    expect(warn(0)).toBe('example.com/v1beta1 Widget is deprecated; use example.com/v2 Widget');
    expect(warn(2)).toBe('example.com/v2 Widget is deprecated');
    expect(
      deprecationWarning(definition, { name: 'v1', served: true, storage: true, deprecationWarning: 'go away' }),
    ).toBe('go away');
  });

  it('hashes its storage version as kube-apiserver does', async () => {
    const { definition } = await serve();
    expect(definition.storageVersionHash).toMatch(/^[A-Za-z0-9+/]{11}=$/);
    expect(definition.storagePrefix).toBe('/example.com/widgets');
  });
});

describe('names from users', () => {
  it('survive whatever they are', async () => {
    const served = await serve({
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    });
    const spec = JSON.parse('{"__proto__":{"a":1},"constructor":2,"toString":null}') as Record<string, unknown>;
    await create(served, widget('a', { spec }));
    const { object } = await served.store.get(testContext(), 'a');
    expect(JSON.stringify(object.spec)).toBe('{"__proto__":{"a":1},"constructor":2,"toString":null}');
  });

  it('of a cluster-scoped kind lie in no namespace', async () => {
    await fixture.establish(widgets({ scope: 'Cluster' }));
    const store = fixture.store('example.com', 'v1', 'widgets');
    const { key } = await store.create(clusterContext(), widget('a'));
    expect(key).toBe('/registry/example.com/widgets/a');
  });
});
