import { type StatusError, systemClock, type UnstructuredObject } from '@kapstan/api';
import { invalidField } from '@kapstan/api/errors';
import { customResource } from '@kapstan/apiextensions';
import {
  type AdmissionControl,
  type GenericStore,
  type LargeObjectValidation,
  type ObjectReader,
  type ResourceDefinition,
  schemaResource,
} from '@kapstan/apiserver';
import type { LargeValidationCall } from '@kapstan/apiserver/internal';
import { refusal, StoreFixture, testContext } from '@kapstan/apiserver/testing';
import { builtinResources, NamespaceLifecycle } from '@kapstan/kubernetes';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { largeObjectValidation } from './large-objects.ts';

let fixture: StoreFixture;
const validation = largeObjectValidation();
const asked: LargeValidationCall[] = [];
/** Happens while the thread works. */
let meanwhile = (): void => undefined;
let isTerminating = false;
const counted: Pick<LargeObjectValidation, 'validate'> = {
  validate: async (call, signal) => {
    asked.push(call);
    const found = await validation.validate(call, signal);
    meanwhile();
    return found;
  },
};

beforeAll(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterAll(async () => {
  await validation.close();
  await fixture.close();
});

const pods = builtinResources().find(({ kind }) => kind === 'Pod') as ResourceDefinition;
const widgets = customResource({
  definition: {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
      versions: [],
    },
  },
  version: {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: {
              text: { type: 'string', pattern: '^a+$' },
              list: { type: 'array', items: { type: 'integer', maximum: 1e6 }, 'x-kubernetes-list-type': 'set' },
            },
          },
          status: { type: 'object', properties: { list: { type: 'array', items: { type: 'integer', maximum: 5 } } } },
        },
      },
    },
  },
  names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
  isTerminating: () => isTerminating,
});

/** Objects for which the program's rules were asked. */
const ruled: unknown[] = [];
const gadgets = schemaResource<UnstructuredObject & { spec: { list: { n: number; m: number }[] } }>({
  ...{ group: 'gadgets.example.com', version: 'v1', kind: 'Gadget', plural: 'gadgets', hasStatus: true },
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['list'],
        properties: {
          list: {
            type: 'array',
            items: {
              type: 'object',
              properties: { n: { type: 'integer', minimum: 0 }, m: { type: 'integer', default: 7 } },
            },
          },
        },
      },
      status: { type: 'object', properties: { n: { type: 'integer', minimum: 0 } } },
    },
  },
  validate: ({ spec }) => {
    ruled.push(spec);
    return spec.list[0]?.n === 13 ? [invalidField('spec.list[0].n', 13, 'bad luck')] : [];
  },
});

function storesOf(definition: ResourceDefinition): readonly GenericStore<UnstructuredObject>[] {
  return [fixture.store(definition), fixture.store(definition, { largeValidation: counted })];
}

function pod(name: string, env: readonly object[]): UnstructuredObject {
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', finalizers: ['a'] },
    spec: { containers: [{ name: 'c', image: 'i', env }] },
  } as unknown as UnstructuredObject;
  pods.applyDefaults(object);
  return object;
}

const widget = (name: string, spec: object): UnstructuredObject =>
  ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'default' },
    spec,
  }) as unknown as UnstructuredObject;

function stepsOf(work: Generator<unknown> | undefined): number {
  let steps = 0;
  while (work?.next().done === false) steps++;
  return steps;
}

async function failure(attempt: Promise<unknown>): Promise<StatusError['status']> {
  return (await refusal(attempt)).status;
}

/** A thread that starts from sources has them translated first. */
const patience = { timeout: 120_000 };

describe('a large object', patience, () => {
  const many = Array.from({ length: 20_000 }, (_, index) => index);

  it('gets the same errors from the thread as without it', async () => {
    const [here, there] = storesOf(pods) as [GenericStore, GenericStore];
    const env = many.map((index) => ({ name: index % 2 === 0 ? `E${index}` : `E=${index}`, value: 'x' }));
    const expected = await failure(here.create(testContext(), pod('big', env)));
    asked.length = 0;
    expect(await failure(there.create(testContext(), pod('big', env)))).toEqual(expected);
    expect(asked).toHaveLength(1);
    expect(expected.details?.causes?.at(-1)?.message).toBe('9901 more errors not shown');
  });

  it('gets the warnings of the thread', async () => {
    const [, there] = storesOf(pods) as [GenericStore, GenericStore];
    const context = testContext();
    const object = pod('warned', [...many.map((index) => ({ name: `E${index}` })), { name: 'E0' }]);
    delete object.metadata?.finalizers;
    const stored = await there.create(context, object);
    expect(stored.object.metadata?.uid).toBeDefined();
    expect(context.warnings).toEqual([
      'spec.containers[0].env[20000]: hides previous definition of "E0", which may be dropped when using apply',
    ]);
  });

  it('may get empty lists where it had none', async () => {
    const sets = builtinResources().find(({ kind }) => kind === 'StatefulSet') as ResourceDefinition;
    const [, there] = storesOf(sets) as [GenericStore, GenericStore];
    const env = many.map((index) => ({ name: `E${index}`, value: 'x' }));
    const setWith = (selector: object): UnstructuredObject => {
      const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i', env }] } };
      const object = {
        ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 's', namespace: 'default' } },
        spec: { serviceName: 's', selector: { matchLabels: { a: 'b' }, ...selector }, template },
      } as unknown as UnstructuredObject;
      sets.applyDefaults(object);
      return object;
    };
    asked.length = 0;
    await there.create(testContext(), setWith({}));
    const transform = async (): Promise<UnstructuredObject> => setWith({ matchExpressions: [] });
    const { stored } = await there.update(testContext(), { name: 's', transform });
    expect(asked).toHaveLength(2);
    expect(stored.object).toMatchObject({
      metadata: { generation: 1 },
      spec: { selector: { matchLabels: { a: 'b' } } },
    });
    expect(stored.object).not.toHaveProperty('spec.selector.matchExpressions');
  });

  it('of a custom kind is validated by its schema, and its status by that of the status', async () => {
    const [here, there] = storesOf(widgets) as [GenericStore, GenericStore];
    asked.length = 0;
    const wrong = widget('w', { list: [...many, 1, 2_000_000] });
    const expected = await failure(here.create(testContext(), structuredClone(wrong)));
    expect(await failure(there.create(testContext(), structuredClone(wrong)))).toEqual(expected);
    expect(expected.details?.causes?.map(({ field }) => field)).toEqual(['spec.list[20001]', 'spec.list[20000]']);
    await there.create(testContext(), widget('w', { list: many }));
    const status = widgets.subresources.find(({ name }) => name === 'status');
    if (status?.type !== 'strategy') throw new Error('no status');
    const update = there.update(testContext(), {
      name: 'w',
      subresource: 'status',
      strategy: status.strategy,
      transform: async (object) => ({ ...(object as UnstructuredObject), status: { list: [4, 6] } }),
    });
    expect((await failure(update)).details?.causes?.map(({ field }) => field)).toEqual(['status.list[1]']);
    expect(asked.map(({ subresource }) => subresource)).toEqual(['', '', 'status']);
  });

  it("of the program's kind is validated by its schema there, and then by the program's rules here", async () => {
    const [here, there] = storesOf(gadgets) as [GenericStore, GenericStore];
    const gadget = (name: string, list: readonly number[]): UnstructuredObject =>
      ({
        apiVersion: 'gadgets.example.com/v1',
        kind: 'Gadget',
        metadata: { name, namespace: 'default' },
        spec: { list: list.map((n) => ({ n, m: 7 })) },
      }) as unknown as UnstructuredObject;
    for (const list of [
      [...many, -1],
      [13, ...many],
    ]) {
      asked.length = 0;
      const expected = await failure(here.create(testContext(), gadget('g', list)));
      expect(asked).toHaveLength(0);
      expect(await failure(there.create(testContext(), gadget('g', list)))).toEqual(expected);
      expect(asked).toHaveLength(1);
    }
    // Both stores asked the rules, for the object that the schema accepts.
    expect(ruled).toHaveLength(2);
    await there.create(testContext(), gadget('g', many));
    const status = gadgets.subresources.find(({ name }) => name === 'status');
    if (status?.type !== 'strategy') throw new Error('no status');
    const update = there.update(testContext(), {
      name: 'g',
      subresource: 'status',
      strategy: status.strategy,
      transform: async (object) => ({ ...(object as UnstructuredObject), status: { n: -1 } }),
    });
    expect((await failure(update)).details?.causes?.map(({ field }) => field)).toEqual(['status.n']);
  });

  it("of the program's kind gets its defaults, and has its changes found, in slices", async () => {
    const object = { spec: { list: many.map((n) => ({ n })) } } as unknown as UnstructuredObject;
    const filling = gadgets.applyDefaultsInSlices?.(object);
    expect(stepsOf(filling)).toBeGreaterThan(10);
    expect((object.spec as { list: object[] }).list.at(-1)).toEqual({ n: 19_999, m: 7 });
    const next = structuredClone({ ...object, metadata: {} });
    const old = structuredClone({ ...object, metadata: { generation: 4 } });
    expect(stepsOf(gadgets.strategy.prepareForUpdateInSlices?.(next, old, testContext()))).toBeGreaterThan(10);
    expect(next.metadata).toEqual({});
  });

  it('of a custom kind is large by its texts, too: patterns look at each character', async () => {
    const [, there] = storesOf(widgets) as [GenericStore, GenericStore];
    asked.length = 0;
    const found = await failure(there.create(testContext(), widget('t', { text: `${'a'.repeat(500_000)}b` })));
    expect(found.details?.causes?.[0]?.field).toBe('spec.text');
    expect(asked).toHaveLength(1);
  });

  it('is not written when its definition or namespace goes while it is validated', async () => {
    const object = () => widget('late', { list: many });
    meanwhile = () => {
      isTerminating = true;
    };
    const [, there] = storesOf(widgets) as [GenericStore, GenericStore];
    expect((await failure(there.create(testContext(), object()))).message).toBe(
      'widgets.example.com "late" is forbidden: create not allowed while custom resource definition is terminating',
    );
    isTerminating = false;
    let namespace: UnstructuredObject | undefined = {
      apiVersion: 'v1',
      kind: 'Namespace',
      status: { phase: 'Active' },
    };
    const reader = { isServed: () => true, get: async () => namespace } as unknown as ObjectReader;
    const lifecycle = new NamespaceLifecycle(reader, systemClock);
    const admission: AdmissionControl = {
      admit: (attributes) => lifecycle.admit(attributes),
      recheck: (attributes) => lifecycle.recheck(attributes),
      validates: () => false,
      validate: async () => undefined,
    };
    const store = fixture.store(widgets, { largeValidation: counted, admission });
    meanwhile = () => {
      namespace = { apiVersion: 'v1', kind: 'Namespace', status: { phase: 'Terminating' } };
    };
    expect((await failure(store.create(testContext(), object()))).details?.causes?.[0]?.reason).toBe(
      'NamespaceTerminating',
    );
    namespace = { apiVersion: 'v1', kind: 'Namespace' };
    meanwhile = () => {
      namespace = undefined;
    };
    expect((await failure(store.create(testContext(), object()))).code).toBe(404);
    meanwhile = () => undefined;
    await expect(there.get(testContext(), 'late')).rejects.toThrow('not found');
  });

  it('is forgotten when nobody waits for it', async () => {
    const [, there] = storesOf(pods) as [GenericStore, GenericStore];
    const signal = AbortSignal.abort(new Error('gone'));
    const object = pod(
      'gone',
      many.map((index) => ({ name: `E${index}` })),
    );
    await expect(there.create({ ...testContext(), signal }, object)).rejects.toThrow('gone');
  });
});

describe('a small object', () => {
  it('is validated in its turn', async () => {
    const [, there] = storesOf(pods) as [GenericStore, GenericStore];
    asked.length = 0;
    await failure(there.create(testContext(), pod('small', [{ name: '' }])));
    await failure(
      there.create(testContext(), pod('text', [{ name: 'a', value: 'x'.repeat(1_000_000) }, { name: '' }])),
    );
    expect(asked).toEqual([]);
  });
});
