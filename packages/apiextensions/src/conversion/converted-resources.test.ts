import type { UnstructuredObject } from '@kapstan/api';
import type { ResourceStore } from '@kapstan/apiserver';
import { FieldManager } from '@kapstan/apiserver';
import { refusal, testContext } from '@kapstan/apiserver/testing';
import type { StorageEvent, Stored } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DefinitionFixture, widgets } from '../testing/definition-fixture.ts';
import type { ConversionRequest } from './function-converter.ts';

type Fields = Record<string, unknown>;

/** Objects converted so far: "a>v2". */
let asked: string[];
/** Replaces the next conversion. */
let trouble: ((object: UnstructuredObject) => Promise<UnstructuredObject> | UnstructuredObject) | undefined;
let fixture: DefinitionFixture;

/** v1 has spec.host ("a:1"), v2 has spec.name and spec.port, and a label of the port. */
function convertWidget(
  object: UnstructuredObject,
  { toApiVersion }: ConversionRequest,
): UnstructuredObject | Promise<UnstructuredObject> {
  const [, version = ''] = toApiVersion.split('/');
  asked.push(`${object.metadata?.name}>${version}`);
  if (trouble !== undefined) return trouble(object);
  const spec = (object.spec ?? {}) as Record<string, string>;
  const [name = '', port = ''] = (spec.host ?? `${spec.name}:${spec.port}`).split(':');
  const { port: _port, ...labels } = object.metadata?.labels ?? {};
  return {
    ...object,
    apiVersion: toApiVersion,
    metadata: { ...object.metadata, labels: version === 'v2' ? { ...labels, port } : labels },
    spec: version === 'v2' ? { name, port } : { host: `${name}:${port}` },
  };
}

const text = { type: 'string' };
const specOf = (properties: Fields) => ({
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties }, status: { type: 'object', properties: { ready: text } } },
  },
});
const versions = [
  { name: 'v1', storage: true, schema: specOf({ host: text }), subresources: { status: {} } },
  {
    name: 'v2',
    storage: false,
    schema: specOf({ name: text, port: text }),
    subresources: { status: {} },
    selectableFields: [{ jsonPath: '.spec.port' }],
  },
] as never;

beforeEach(async () => {
  asked = [];
  trouble = undefined;
  const managedFields = new FieldManager({
    findVersion: (of, version) => fixture.catalog.findVersion(of, version),
  });
  fixture = await DefinitionFixture.open(openLmdbEngine, {
    managedFields,
    conversions: { 'widgets.example.com': convertWidget },
  });
  await fixture.establish(widgets({ versions }));
});
afterEach(() => fixture.close());

const stored = (): ResourceStore<UnstructuredObject> => fixture.store('example.com', 'v1', 'widgets');
const other = (): ResourceStore<UnstructuredObject> => fixture.store('example.com', 'v2', 'widgets');

function widget(version: string, name: string, more: Fields): UnstructuredObject {
  return { apiVersion: `example.com/${version}`, kind: 'Widget', metadata: { name }, ...more };
}

async function createMany(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    await stored().create(testContext(), widget('v1', `w${index}`, { spec: { host: `h${index}:${index % 3}` } }));
  }
  asked = [];
}

const specs = (items: readonly Stored<UnstructuredObject>[]): unknown[] => items.map(({ object }) => object.spec);
const names = (items: readonly Stored<UnstructuredObject>[]): unknown[] =>
  items.map(({ object }) => object.metadata?.name);
const change = (spec: Fields) => (present: UnstructuredObject | undefined) => ({
  ...(present as UnstructuredObject),
  spec,
});

class EventLog {
  readonly seen: string[] = [];
  readonly errors: (Error | undefined)[] = [];
  #waiting: { readonly count: number; readonly resolve: () => void } | undefined;
  isFull = false;

  onEvent(event: StorageEvent<UnstructuredObject>): void {
    this.seen.push(
      event.type === 'BOOKMARK' ? 'BOOKMARK' : `${event.type} ${JSON.stringify(event.stored.object.spec)}`,
    );
    this.#tell();
  }

  onEnd(error?: Error): void {
    this.errors.push(error);
    this.#tell();
  }

  until(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { count, resolve };
      this.#tell();
    });
  }

  #tell(): void {
    if (this.#waiting !== undefined && this.seen.length + this.errors.length >= this.#waiting.count)
      this.#waiting.resolve();
  }
}

describe('objects of a definition with a conversion', () => {
  it('are stored in the storage version, whatever version they are written in', async () => {
    await other().create(testContext(), widget('v2', 'a', { spec: { name: 'h', port: '1' } }));
    expect((await stored().get(testContext(), 'a')).object).toMatchObject({
      apiVersion: 'example.com/v1',
      spec: { host: 'h:1' },
    });
    expect((await other().get(testContext(), 'a')).object).toMatchObject({
      apiVersion: 'example.com/v2',
      metadata: { labels: { port: '1' } },
      spec: { name: 'h', port: '1' },
    });
  });

  it('cost no conversion in the version that they are stored in', async () => {
    await createMany(2);
    await stored().get(testContext(), 'w0');
    await stored().list(testContext(), {});
    expect(asked).toEqual([]);
  });

  it('are pruned by the schema of the version that they were converted into', async () => {
    await createMany(1);
    trouble = (object) => ({ ...object, apiVersion: 'example.com/v2', spec: { name: 'x', left: 'over' } });
    expect((await other().get(testContext(), 'w0')).object.spec).toEqual({ name: 'x' });
  });

  it('are updated, and their status, in another version', async () => {
    await createMany(1);
    await other().update(testContext(), { name: 'w0', transform: change({ name: 'n', port: '9' }) });
    expect((await stored().get(testContext(), 'w0')).object).toMatchObject({
      spec: { host: 'n:9' },
      metadata: { generation: 2 },
    });
    await fixture.establish(widgets({ versions, names: { plural: 'others', kind: 'Other' } }));
    const status = fixture.catalog.find('example.com', 'v2', 'widgets')?.definition.subresources[0] as never as {
      strategy: never;
    };
    await other().update(testContext(), {
      name: 'w0',
      strategy: status.strategy,
      subresource: 'status',
      transform: (present) => ({ ...(present as UnstructuredObject), status: { ready: 'yes' } }),
    });
    expect((await stored().get(testContext(), 'w0')).object).toMatchObject({ spec: { host: 'n:9' } });
  });

  it('are deleted in another version, and answered in it', async () => {
    await createMany(1);
    const answer = await other().delete(testContext(), 'w0', {});
    expect(answer.stored?.object).toMatchObject({ apiVersion: 'example.com/v2', spec: { name: 'h0' } });
    expect((await stored().list(testContext(), {})).items).toEqual([]);
  });

  it('are converted once for all lists, and again when they have changed', async () => {
    await createMany(3);
    expect(specs((await other().list(testContext(), {})).items)).toEqual([
      { name: 'h0', port: '0' },
      { name: 'h1', port: '1' },
      { name: 'h2', port: '2' },
    ]);
    await other().list(testContext(), {});
    expect(asked).toEqual(['w0>v2', 'w1>v2', 'w2>v2']);
    await stored().update(testContext(), { name: 'w1', transform: change({ host: 'x:7' }) });
    expect(specs((await other().list(testContext(), {})).items)[1]).toEqual({ name: 'x', port: '7' });
    expect(asked).toEqual(['w0>v2', 'w1>v2', 'w2>v2', 'w1>v2']);
  });

  it('are selected by labels and fields of the version that is asked for', async () => {
    await createMany(7);
    const byLabel = { labelSelector: 'port=1' };
    const byField = { fieldSelector: 'spec.port=2' };
    expect(names((await other().list(testContext(), byLabel as never)).items)).toEqual(['w1', 'w4']);
    expect(names((await other().list(testContext(), byField as never)).items)).toEqual(['w2', 'w5']);
    expect((await refusal(stored().list(testContext(), byField as never))).message).toBe(
      'field label not supported: spec.port',
    );
  });

  it('come in pages whose ends lie anywhere', async () => {
    await createMany(9);
    const seen: unknown[] = [];
    let token = '';
    do {
      const page = await other().list(testContext(), {
        labelSelector: 'port!=0',
        limit: 2,
        continue: token,
      } as never);
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...names(page.items));
      token = page.continue;
    } while (token !== '');
    expect(seen).toEqual(['w1', 'w2', 'w4', 'w5', 'w7', 'w8']);
  });

  it('keep the managers of each version, whose fields are compared in it', async () => {
    await createMany(1);
    // Sorted, because the order of entries depends on the second in which each was written.
    const owners = async (): Promise<unknown> =>
      (await stored().get(testContext(), 'w0')).object.metadata?.managedFields
        ?.map(({ manager, apiVersion, fieldsV1 }) => `${manager} ${apiVersion} ${JSON.stringify(fieldsV1)}`)
        .sort();
    await other().update(testContext({ fieldManager: 'second' }), {
      name: 'w0',
      transform: change({ name: 'n', port: '0' }),
    });
    const created = 'test example.com/v1 {"f:spec":{}}';
    expect(await owners()).toEqual(['second example.com/v2 {"f:spec":{"f:name":{}}}', created]);
    await stored().update(testContext({ fieldManager: 'third' }), { name: 'w0', transform: change({ host: 'n:5' }) });
    expect(await owners()).toEqual([
      'second example.com/v2 {"f:spec":{"f:name":{}}}',
      created,
      'third example.com/v1 {"f:spec":{"f:host":{}}}',
    ]);
  });
});

describe('watches in another version', () => {
  const watch = (log: EventLog, request: Fields = {}): { close(): void } =>
    other().watch(testContext(), { resourceVersion: '0', ...request } as never, log);

  it('deliver every change in order, converted once for all of them', async () => {
    await createMany(2);
    const [first, second] = [new EventLog(), new EventLog()];
    const watches = [watch(first), watch(second)];
    await Promise.all([first.until(2), second.until(2)]);
    await stored().update(testContext(), { name: 'w0', transform: change({ host: 'x:8' }) });
    await stored().delete(testContext(), 'w1', {});
    await Promise.all([first.until(4), second.until(4)]);
    for (const one of watches) one.close();
    expect(first.seen).toEqual([
      'ADDED {"name":"h0","port":"0"}',
      'ADDED {"name":"h1","port":"1"}',
      'MODIFIED {"name":"x","port":"8"}',
      'DELETED {"name":"h1","port":"1"}',
    ]);
    expect(second.seen).toEqual(first.seen);
    expect(asked.length).toBeLessThanOrEqual(4 + 1);
  });

  it('see an object come and go with its labels of that version', async () => {
    await createMany(1);
    const log = new EventLog();
    const watching = watch(log, { labelSelector: 'port=5' });
    for (const host of ['a:5', 'b:5', 'c:6', 'd:6']) {
      await stored().update(testContext(), { name: 'w0', transform: change({ host }) });
    }
    await log.until(3);
    watching.close();
    expect(log.seen).toEqual([
      'ADDED {"name":"a","port":"5"}',
      'MODIFIED {"name":"b","port":"5"}',
      'DELETED {"name":"b","port":"5"}',
    ]);
  });

  it('end with the error of a conversion that fails', async () => {
    await createMany(1);
    trouble = () => {
      throw new Error('no idea');
    };
    const log = new EventLog();
    watch(log);
    await log.until(1);
    expect(log.errors.map((error) => error?.message)).toEqual([
      'conversion function for example.com/v1, Kind=Widget failed: no idea',
    ]);
  });
});

describe('a conversion that never answers', () => {
  it('holds nobody else: neither the cache, nor other versions, nor other kinds', async () => {
    await createMany(2);
    await fixture.establish(widgets({ names: { plural: 'others', kind: 'Other' } }));
    trouble = () => new Promise(() => undefined);
    const hanging = new AbortController();
    const lost = other().list(testContext({ signal: hanging.signal } as never), {});
    const log = new EventLog();
    const watching = stored().watch(testContext(), { resourceVersion: '0' } as never, log);
    await stored().update(testContext(), { name: 'w0', transform: change({ host: 'x:1' }) });
    await log.until(3);
    watching.close();
    expect((await stored().list(testContext(), {})).items).toHaveLength(2);
    await fixture.store('example.com', 'v1', 'others').create(testContext(), {
      ...widget('v1', 'o', {}),
      kind: 'Other',
    });
    expect(await Promise.race([lost, Promise.resolve('still waits')])).toBe('still waits');
    lost.catch(() => undefined);
  });
});

describe('what a conversion answers', () => {
  const refused = async (answer: (object: UnstructuredObject) => unknown): Promise<string> => {
    trouble = answer as never;
    const error = await refusal(other().get(testContext(), 'w0'));
    expect([error.code, error.reason]).toEqual([500, '']);
    return error.message.replace('conversion function for example.com/v1, Kind=Widget ', '');
  };
  const v2 = 'example.com/v2';

  it('has to be the same object, of the version asked for', async () => {
    await createMany(1);
    expect(await refused(() => 'text')).toBe('returned invalid object at index 0: expected an object, received string');
    expect(await refused((object) => object)).toBe(
      'returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)',
    );
    expect(await refused((object) => ({ ...object, apiVersion: v2, kind: 'Gadget' }))).toBe(
      'returned invalid object at index 0: invalid kind (expected Widget, received Gadget)',
    );
    const renamed = (member: string) => (object: UnstructuredObject) => ({
      ...object,
      apiVersion: v2,
      metadata: { ...object.metadata, [member]: 'other' },
    });
    expect(await refused(renamed('name'))).toBe('returned invalid object: must have the same name: w0 != other');
    expect(await refused(renamed('namespace'))).toBe(
      'returned invalid object: must have the same namespace: default != other',
    );
    expect(await refused(renamed('uid'))).toMatch(/^returned invalid object: must have the same UID: .* != other$/);
  });

  it('may change labels and annotations, and nothing else of the metadata', async () => {
    await createMany(1);
    const before = (await stored().get(testContext(), 'w0')).object.metadata;
    trouble = (object) => ({
      ...object,
      apiVersion: v2,
      metadata: { ...object.metadata, labels: { a: 'b' }, finalizers: ['x/y'], generation: 77, resourceVersion: '1' },
    });
    expect((await other().get(testContext(), 'w0')).object.metadata).toEqual({ ...before, labels: { a: 'b' } });
  });

  it('must not have labels or annotations that no object may have', async () => {
    await createMany(1);
    const labelled = (labels: unknown) => (object: UnstructuredObject) => ({
      ...object,
      apiVersion: v2,
      metadata: { ...object.metadata, labels },
    });
    expect(await refused(labelled('x'))).toBe(
      'returned invalid metadata: invalid metadata.labels of type string in converted object',
    );
    expect(await refused(labelled({ a: 1 }))).toBe(
      'returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object',
    );
    expect(await refused(labelled({ 'a b': 'c' }))).toMatch(
      /^returned invalid metadata: metadata.labels: Invalid value: "a b"/,
    );
    expect(await refused(({ metadata: _gone, ...object }) => ({ ...object, apiVersion: v2 }))).toBe(
      'returned invalid object: must have the same name: w0 != ',
    );
  });

  it('is reported with its index where it is one of several', async () => {
    await createMany(2);
    trouble = (object) => ({ ...object, apiVersion: v2, kind: object.metadata?.name === 'w1' ? 'Gadget' : 'Widget' });
    expect((await refusal(other().list(testContext(), {}))).message).toBe(
      'conversion function for example.com/v1, Kind=Widget returned invalid converted object at index 1: invalid kind (expected Widget, received Gadget)',
    );
  });

  it('is counted', async () => {
    await createMany(1);
    await other().get(testContext(), 'w0');
    await refused(() => null);
    const counts = fixture.conversionCounts();
    expect(counts).toContain('apiserver_conversion_webhook_request_total{result="success",failure_type=""} 1');
    expect(counts).toContain(
      'apiserver_conversion_webhook_request_total{result="failure",failure_type="conversion_webhook_invalid_converted_object_failure"} 1',
    );
    expect(counts).toContain('crd_name="widgets.example.com",from_version="v1",to_version="v2",succeeded="false"');
  });
});
