import { type DeepReadonly, type KubernetesObject, silentLogger } from '@kapstan/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NodeGraph, type Vertex } from './node-graph.ts';
import { NodeGraphFeed, type NodeGraphKind } from './node-graph-feed.ts';

type Stored = DeepReadonly<KubernetesObject>;

const nodes = ['n1', 'n2', 'n3'];
const names = ['a', 'b', 'c'];
const name = fc.constantFrom(...names);
const node = fc.option(fc.constantFrom(...nodes), { nil: undefined });

const pod = fc
  .record({
    name,
    node,
    secrets: fc.subarray(names),
    claims: fc.subarray(names),
    isMirror: fc.boolean(),
    uid: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ name, node, secrets, claims, isMirror, uid }): [NodeGraphKind, Stored] => [
    'Pod',
    {
      // A changed pod has another uid, because its references never change once it has a node.
      metadata: {
        namespace: 'x',
        name,
        uid: JSON.stringify([uid, node, secrets, claims, isMirror]),
        ...(isMirror && { annotations: { 'kubernetes.io/config.mirror': '1' } }),
      },
      spec: {
        nodeName: node,
        serviceAccountName: name,
        volumes: [
          ...secrets.map((secretName) => ({ name: secretName, secret: { secretName } })),
          ...claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
        ],
      },
    } as unknown as Stored,
  ]);
const volume = fc
  .record({ name, claim: fc.option(name, { nil: undefined }), secret: fc.option(name, { nil: undefined }) })
  .map(({ name, claim, secret }): [NodeGraphKind, Stored] => [
    'PersistentVolume',
    {
      metadata: { name },
      spec: {
        ...(claim !== undefined && { claimRef: { namespace: 'x', name: claim } }),
        ...(secret !== undefined && {
          csi: { driver: 'd', volumeHandle: 'h', nodeStageSecretRef: { namespace: 'x', name: secret } },
        }),
      },
    } as unknown as Stored,
  ]);
const attachment = fc
  .record({ name, node: fc.constantFrom(...nodes) })
  .map(({ name, node }): [NodeGraphKind, Stored] => [
    'VolumeAttachment',
    { metadata: { name }, spec: { nodeName: node } } as unknown as Stored,
  ]);
const slice = fc
  .record({ name, node })
  .map(({ name, node }): [NodeGraphKind, Stored] => [
    'ResourceSlice',
    { metadata: { name }, spec: { nodeName: node } } as unknown as Stored,
  ]);
const change = fc.record({
  of: fc.oneof(pod, volume, attachment, slice),
  how: fc.constantFrom('set', 'set', 'delete', 'replace'),
});

const kinds: readonly NodeGraphKind[] = ['Pod', 'PersistentVolume', 'VolumeAttachment', 'ResourceSlice'];
const vertices: readonly Vertex[] = (
  [
    'configmap',
    'resourceslice',
    'pod',
    'pvc',
    'pv',
    'resourceclaim',
    'secret',
    'volumeattachment',
    'serviceAccount',
  ] as const
).flatMap((type) =>
  names.map((name) => ({
    type,
    name,
    namespace: ['pv', 'resourceslice', 'volumeattachment'].includes(type) ? '' : 'x',
  })),
);

const answersOf = (graph: NodeGraph): string[] =>
  nodes.flatMap((node) =>
    vertices.filter((vertex) => graph.isRelated(node, vertex)).map(({ type, name }) => `${node} ${type} ${name}`),
  );

describe('the graph of nodes', () => {
  it('is the same however it came about: by changes one by one, or from what is stored in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 40 }), async (changes) => {
        const graph = new NodeGraph();
        const feed = new NodeGraphFeed(graph);
        const stored = new Map<NodeGraphKind, Map<string, Stored>>(kinds.map((kind) => [kind, new Map()]));
        for (const {
          of: [kind, object],
          how,
        } of changes) {
          const all = stored.get(kind) as Map<string, Stored>;
          const key = object.metadata?.name ?? '';
          if (how === 'delete') {
            const known = all.get(key);
            all.delete(key);
            if (known !== undefined) feed.delete(kind, known);
          } else {
            all.set(key, object);
            // The test does not wait here, so later changes arrive while the list is being taken over.
            if (how === 'replace') feed.replace(kind, all.values());
            else feed.set(kind, object);
          }
        }
        await feed.whenSettled();
        const fresh = new NodeGraph();
        const other = new NodeGraphFeed(fresh);
        for (const [kind, all] of stored) other.replace(kind, all.values());
        await other.whenSettled();
        expect(answersOf(graph)).toEqual(answersOf(fresh));
        expect(graph.size).toBe(fresh.size);
        for (const [kind, all] of stored) for (const object of all.values()) feed.delete(kind, object);
        expect(graph.size, 'objects left behind').toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('tells namespaces and names apart whatever they hold', () => {
    const graph = new NodeGraph();
    graph.setHolder({ type: 'pod', namespace: 'a', name: 'b c' }, 'n1', []);
    expect(graph.isRelated('n1', { type: 'pod', namespace: 'a', name: 'b c' })).toBe(true);
    expect(graph.isRelated('n1', { type: 'pod', namespace: 'a b', name: 'c' })).toBe(false);
  });

  it('takes over a long list in several turns, and changes that come meanwhile after it', async () => {
    const graph = new NodeGraph();
    const feed = new NodeGraphFeed(graph);
    const podNamed = (at: number): Stored =>
      ({ metadata: { namespace: 'x', name: `p${at}` }, spec: { nodeName: 'n1' } }) as unknown as Stored;
    const isKnown = (at: number): boolean => graph.isRelated('n1', { type: 'pod', namespace: 'x', name: `p${at}` });
    feed.replace(
      'Pod',
      Array.from({ length: 50_000 }, (_, at) => podNamed(at)),
    );
    expect(isKnown(49_999)).toBe(false);
    feed.delete('Pod', podNamed(0));
    feed.set('Pod', podNamed(50_000));
    expect([isKnown(0), isKnown(50_000)]).toEqual([true, false]);
    await feed.whenSettled();
    expect([isKnown(0), isKnown(49_999), isKnown(50_000)]).toEqual([false, true, true]);
  });

  it('leaves out an object that cannot be read, and goes on with the others', async () => {
    const graph = new NodeGraph();
    const log: unknown[] = [];
    const logger = { ...silentLogger, error: (text: string, data?: object) => void log.push([text, data]) };
    const feed = new NodeGraphFeed(graph, logger);
    const attachment = (name: string, spec: object | undefined): Stored =>
      ({ metadata: { name }, spec }) as unknown as Stored;
    const isKnown = (name: string): boolean => graph.isRelated('n1', { type: 'volumeattachment', namespace: '', name });
    feed.replace('VolumeAttachment', [attachment('broken', undefined), attachment('a', { nodeName: 'n1' })]);
    feed.set('VolumeAttachment', attachment('b', { nodeName: 'n1' }));
    feed.set('VolumeAttachment', attachment('c', undefined));
    await feed.whenSettled();
    expect(['a', 'b'].map(isKnown)).toEqual([true, true]);
    feed.set('VolumeAttachment', attachment('a', undefined));
    expect(isKnown('a')).toBe(false);
    const text = 'an object could not be read; nodes do not have access by it';
    expect(log).toEqual(
      ['/broken', '/c', '/a'].map((object) => [
        text,
        { kind: 'VolumeAttachment', object, error: expect.stringContaining('nodeName') },
      ]),
    );
  });
});
