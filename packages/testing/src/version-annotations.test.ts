// What Tables and metadata alone show of objects that keep fields of other versions in annotations, as recorded from a kube-apiserver 1.36.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { adminRequest, patchTypes } from './testing/admin-request.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const v1 = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
const v2 = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
const daemonSets = '/apis/apps/v1/namespaces/default/daemonsets';
const form = (kind: string): string => `application/json;as=${kind};v=v1;g=meta.k8s.io`;

let cluster: TestCluster;
const read = async (path: string, accept = 'application/json'): Promise<string> =>
  (await adminRequest(cluster, { method: 'GET', path, headers: { accept } })).text;
const get = async (path: string, accept?: string): Promise<Record<string, never>> =>
  JSON.parse(await read(path, accept)) as Record<string, never>;

interface Shown {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}
const annotationsOf = ({ metadata }: Shown): unknown => metadata.annotations;
const rowsOf = async (path: string): Promise<readonly { readonly cells: unknown[]; readonly object: Shown }[]> =>
  (await get(path, form('Table'))).rows as never;

beforeAll(async () => {
  cluster = await testCluster({ clock: 'real' });
  const scaleTargetRef = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' };
  const target = { type: 'Utilization', averageUtilization: 50 };
  const spec = {
    scaleTargetRef,
    maxReplicas: 3,
    metrics: [{ type: 'Resource', resource: { name: 'memory', target } }],
  };
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  for (const [path, body] of [
    [v2, { metadata: { name: 'a', annotations: { mine: '1' } }, spec }],
    [v2, { metadata: { name: 'b' }, spec }],
    [daemonSets, { metadata: { name: 'a' }, spec: { selector: { matchLabels: { a: 'b' } }, template } }],
  ] as const) {
    expect(await adminRequest(cluster, { method: 'POST', path, body })).toMatchObject({ code: 201 });
  }
});
afterAll(() => cluster.close());

describe('an annotation that only a version adds', () => {
  it('is shown with the object', async () => {
    const names = ['mine', 'autoscaling.alpha.kubernetes.io/metrics'];
    expect(Object.keys(annotationsOf((await get(`${v1}/a`)) as never) as object)).toEqual(names);
    const [row] = await rowsOf(`${v1}/a?includeObject=Object`);
    expect(Object.keys(annotationsOf(row?.object as Shown) as object)).toEqual(names);
    expect(annotationsOf((await get(`${daemonSets}/a`)) as never)).toEqual({
      'deprecated.daemonset.template.generation': '1',
    });
  });

  it.each([
    [`${v1}/a`, { mine: '1' }],
    [`${v1}/b`, undefined],
    [`${daemonSets}/a`, undefined],
  ])('is not part of the metadata of %s', async (path, annotations) => {
    expect(annotationsOf((await get(path, form('PartialObjectMetadata'))) as never)).toEqual(annotations);
    expect((await rowsOf(path)).map(({ object }) => annotationsOf(object))).toEqual([annotations]);
  });

  it.each([
    [v1, [{ mine: '1' }, undefined]],
    [daemonSets, [undefined]],
  ])('is not part of metadata in lists, watches and protobuf of %s', async (path, annotations) => {
    const list = await get(path, form('PartialObjectMetadataList'));
    expect((list.items as unknown as readonly Shown[]).map(annotationsOf)).toEqual(annotations);
    expect((await rowsOf(path)).map(({ object }) => annotationsOf(object))).toEqual(annotations);
    const watched = await read(`${path}?watch=true&timeoutSeconds=1`, form('PartialObjectMetadata'));
    const events = watched.trim().split('\n');
    expect(events.map((line) => annotationsOf(JSON.parse(line).object as Shown))).toEqual(annotations);
    const bytes = await read(path, form('PartialObjectMetadataList').replace('json', 'vnd.kubernetes.protobuf'));
    expect(bytes).toContain('PartialObjectMetadataList');
    // Managed fields name the generation of a daemon set's template, with a prefix.
    expect(bytes).not.toMatch(/autoscaling\.alpha|(?<!f:)deprecated\.daemonset/);
  });
});

it('an annotation of v1 is dropped from what a client sends in v2', async () => {
  const name = 'autoscaling.alpha.kubernetes.io/metrics';
  const body = { metadata: { annotations: { [name]: '[]', other: '1' } } };
  const change = { method: 'PATCH', path: `${v2}/a`, body, type: patchTypes.merge };
  expect(annotationsOf(JSON.parse((await adminRequest(cluster, change)).text) as Shown)).toEqual({
    mine: '1',
    other: '1',
  });
  const back = { metadata: { annotations: { other: null } } };
  await adminRequest(cluster, { ...change, body: back });
});

it('a row of an autoscaler of v1 has the metrics that only v2 has fields for', async () => {
  const [row] = await rowsOf(`${v1}/a`);
  expect(row?.cells.slice(0, 4)).toEqual(['a', 'Deployment/d', 'memory: <unknown>/50%', '1']);
});

it('a change through v1 adds no metric of the CPU to others', async () => {
  const change = {
    method: 'PATCH',
    path: `${v1}/b`,
    body: { metadata: { labels: { q: '1' } } },
    type: patchTypes.merge,
  };
  expect(await adminRequest(cluster, change)).toMatchObject({ code: 200 });
  expect((await get(`${v2}/b`)).spec).toMatchObject({ metrics: [{ resource: { name: 'memory' } }] });
});
