import type { UnstructuredObject } from '@kapstan/api';
import type { ResourceDefinition, ResourceStore } from '@kapstan/apiserver';
import { refusal, testContext } from '@kapstan/apiserver/testing';
import type { CustomResourceDefinitionVersion, JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DefinitionFixture, widget, widgets } from '../testing/definition-fixture.ts';

let fixture: DefinitionFixture;
beforeEach(async () => {
  fixture = await DefinitionFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

interface Served {
  readonly definition: ResourceDefinition<UnstructuredObject>;
  readonly store: ResourceStore<UnstructuredObject>;
}

type Properties = NonNullable<JSONSchemaProps['properties']>;

function version(properties: Properties, more: Partial<CustomResourceDefinitionVersion> = {}) {
  return { schema: { openAPIV3Schema: { type: 'object', properties } }, ...more };
}

function served(): Served {
  const found = fixture.catalog.find('example.com', 'v1', 'widgets');
  if (found === undefined) throw new Error('widgets are not served');
  return found;
}

async function serve(properties: Properties, more: Partial<CustomResourceDefinitionVersion> = {}): Promise<void> {
  await fixture.establish(widgets({ version: version(properties, more) }));
}

/** Makes the schema stricter, and waits until it counts. */
async function tighten(properties: Properties, more: Partial<CustomResourceDefinitionVersion> = {}): Promise<void> {
  const before = served();
  await fixture.update('widgets.example.com', (definition) => {
    Object.assign(definition.spec.versions[0] as object, version(properties, more));
  });
  await fixture.untilCatalog(() => served().definition !== before.definition);
}

function create(object: UnstructuredObject): Promise<unknown> {
  const { definition, store } = served();
  definition.applyDefaults(object);
  return store.create(testContext(), object);
}

/** Returns the warnings of the update. */
async function update(apply: (object: UnstructuredObject) => void, subresource = ''): Promise<readonly string[]> {
  const { definition, store } = served();
  const part = definition.subresources.find(({ name }) => name === subresource);
  const context = testContext();
  await store.update(context, {
    name: 'a',
    subresource,
    ...(part?.type === 'strategy' ? { strategy: part.strategy } : {}),
    transform: (present) => {
      if (present === undefined) throw new Error('a is not there');
      apply(present);
      return present;
    },
  });
  return context.warnings;
}

const withRule = (schema: JSONSchemaProps, ...rules: string[]): JSONSchemaProps => ({
  ...schema,
  'x-kubernetes-validations': rules.map((rule) => ({ rule })),
});

const integer: JSONSchemaProps = { type: 'integer' };

describe('the rules of a custom resource', () => {
  const properties: Properties = {
    spec: withRule({ type: 'object', properties: { min: integer, max: integer } }, 'self.min <= self.max'),
    status: withRule({ type: 'object', properties: { phase: { type: 'string' } } }, "self.phase != 'Bad'"),
  };

  it('refuse a create, with the field, the reason and the text of each', async () => {
    await serve(properties);
    const error = await refusal(create(widget('a', { spec: { min: 2, max: 1 } })));
    expect(error.status).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: 'Widget.example.com "a" is invalid: spec: Invalid value: failed rule: self.min <= self.max',
      details: {
        causes: [
          { reason: 'FieldValueInvalid', field: 'spec', message: 'Invalid value: failed rule: self.min <= self.max' },
        ],
      },
    });
  });

  it('refuse an update and a write to /status', async () => {
    await serve(properties, { subresources: { status: {} } });
    await create(widget('a', { spec: { min: 1, max: 2 } }));
    const ofSpec = await refusal(update((object) => Object.assign(object, { spec: { min: 3, max: 2 } })));
    expect(ofSpec.message).toContain('spec: Invalid value: failed rule: self.min <= self.max');
    const ofStatus = await refusal(update((object) => Object.assign(object, { status: { phase: 'Bad' } }), 'status'));
    expect(ofStatus.message).toContain("status: Invalid value: failed rule: self.phase != 'Bad'");
    await update((object) => Object.assign(object, { status: { phase: 'Good' } }), 'status');
  });

  it('are not looked at in an object of the wrong shape', async () => {
    await serve(properties);
    const error = await refusal(create(widget('a', { spec: { min: '2', max: 1 } })));
    expect(error.status.details?.causes?.map(({ field, reason }) => [field, reason])).toEqual([
      ['spec.min', 'FieldValueTypeInvalid'],
      ['<nil>', 'FieldValueInvalid'],
    ]);
    expect(error.message).toContain('some validation rules were not checked because the object was invalid');
  });

  it('report a hundred errors at most', async () => {
    await serve({
      spec: { type: 'object', properties: { list: { type: 'array', items: withRule(integer, 'self > 0') } } },
    });
    const error = await refusal(create(widget('a', { spec: { list: Array.from({ length: 3000 }, () => 0) } })));
    expect(error.status.details?.causes).toHaveLength(101);
    expect(error.message).toContain('and 2900 more errors');
  });
});

describe('what was there before a rule', () => {
  const plain: Properties = { spec: { type: 'object', properties: { a: integer, b: integer } } };
  const strict: Properties = {
    spec: { type: 'object', properties: { a: withRule(integer, 'self > 5'), b: integer } },
  };

  it('may stay, with a warning, and may not be set again to something else that is wrong', async () => {
    await serve(plain);
    await create(widget('a', { spec: { a: 1 } }));
    await tighten(strict);
    expect(await update((object) => Object.assign(object.spec as object, { b: 1 }))).toEqual([
      'spec.a: Invalid value: 1: failed rule: self > 5',
    ]);
    const error = await refusal(update((object) => Object.assign(object.spec as object, { a: 2 })));
    expect(error.message).toContain('spec.a: Invalid value: 2: failed rule: self > 5');
  });

  it('is warned of beside an error elsewhere', async () => {
    await serve(plain);
    await create(widget('a', { spec: { a: 1 } }));
    await tighten({
      spec: { type: 'object', properties: { a: withRule(integer, 'self > 5'), b: withRule(integer, 'self > 7') } },
    });
    const { definition, store } = served();
    const context = testContext();
    const change = store.update(context, {
      name: 'a',
      strategy: definition.strategy,
      transform: (present) => ({ ...present, spec: { a: 1, b: 1 } }) as UnstructuredObject,
    });
    expect((await refusal(change)).message).toContain('spec.b: Invalid value: 1: failed rule: self > 7');
    expect(context.warnings).toEqual(['spec.a: Invalid value: 1: failed rule: self > 5']);
  });
});

describe('what was there before a schema became stricter', () => {
  const keyed = (n: JSONSchemaProps): JSONSchemaProps => ({
    type: 'array',
    items: { type: 'object', properties: { k: { type: 'string' }, n }, required: ['k'] },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  });
  const small: JSONSchemaProps = { type: 'integer', maximum: 5 };

  it('may stay in a list with keys, also in another place', async () => {
    await serve({ spec: { type: 'object', properties: { list: keyed(integer) } } });
    const [one, two] = [
      { k: 'one', n: 9 },
      { k: 'two', n: 1 },
    ];
    await create(widget('a', { spec: { list: [one, two] } }));
    await tighten({ spec: { type: 'object', properties: { list: { ...keyed(small), maxItems: 1 } } } });
    await update((object) => Object.assign(object, { spec: { list: [two, one] } }));
    const error = await refusal(
      update((object) => Object.assign(object, { spec: { list: [{ k: 'three', n: 9 }, one] } })),
    );
    expect(error.status.details?.causes?.map(({ field }) => field)).toEqual(['spec.list[0].n', 'spec.list']);
  });

  it('may not stay in an object with fields that the schema does not name, because whether those changed is unknown', async () => {
    const open = (more: JSONSchemaProps): Properties => ({
      spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...more },
    });
    await serve(open({}));
    await create(widget('a', { spec: { unknown: 1 } }));
    await tighten(open({ minProperties: 2 }));
    const error = await refusal(update((object) => Object.assign(object.metadata as object, { labels: { a: 'b' } })));
    expect(error.message).toContain('spec in body should have at least 2 properties');
  });

  it('may not stay at the root', async () => {
    await serve({ spec: { type: 'object' } });
    await create(widget('a'));
    await fixture.update('widgets.example.com', (definition) => {
      Object.assign(definition.spec.versions[0]?.schema?.openAPIV3Schema as object, { required: ['spec'] });
    });
    await fixture.untilCatalog(() => JSON.stringify(served().definition.schema.required ?? []) === '["spec"]');
    const error = await refusal(update((object) => Object.assign(object.metadata as object, { labels: { a: 'b' } })));
    expect(error.message).toContain('spec: Required value');
  });

  it('is not looked at by a write to /status', async () => {
    const status: JSONSchemaProps = { type: 'object', properties: { phase: { type: 'string' } } };
    const subresources = { status: {} };
    const open: JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    await serve({ spec: open, status }, { subresources });
    await create(widget('a', { spec: { unknown: 1 } }));
    await tighten({ spec: { ...open, minProperties: 2 }, status }, { subresources });
    await update((object) => Object.assign(object, { status: { phase: 'Up' } }), 'status');
    const error = await refusal(update((object) => Object.assign(object, { status: { phase: 1 } }), 'status'));
    expect(error.status.details?.causes?.map(({ field }) => field)).toEqual(['status.phase']);
  });
});

describe('rules that take long', () => {
  const numbers: JSONSchemaProps = { type: 'array', items: integer, maxItems: 100 };
  const dear = 'self.all(a, self.all(b, self.all(c, a + b + c >= 0)))';

  /** Turns of the event loop until the work is done. */
  async function turnsOf(work: Promise<unknown>): Promise<number> {
    let isDone = false;
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await work.finally(() => (isDone = true)).catch(() => undefined);
    return turns;
  }

  it('let others have their turn', async () => {
    const rules = Array.from({ length: 8 }, (_, index) => dear.replace('>= 0', `>= ${-index}`));
    await serve({ spec: { type: 'object', properties: { list: withRule(numbers, ...rules) } } });
    const created = create(widget('a', { spec: { list: Array.from({ length: 44 }, (_, index) => index) } }));
    expect(await turnsOf(created)).toBeGreaterThan(20);
    await created;
  });

  it('end at the limit of one evaluation', async () => {
    await serve({ spec: { type: 'object', properties: { list: withRule(numbers, dear, 'self.size() < 9') } } });
    const error = await refusal(create(widget('a', { spec: { list: Array.from({ length: 60 }, (_, i) => i) } })));
    expect(error.status.details?.causes).toHaveLength(1);
    expect(error.message).toContain('operation cancelled: actual cost limit exceeded');
  });

  it('of a definition are compiled one after the other', async () => {
    const rules = Array.from({ length: 3000 }, (_, index) => ({ rule: `self > ${index} || self < ${index}` }));
    const definition = widgets({ version: version({ spec: { ...integer, 'x-kubernetes-validations': rules } }) });
    const created = fixture.create(definition);
    expect(await turnsOf(created)).toBeGreaterThan(5);
    await created;
  });
});
