import { readFileSync } from 'node:fs';
import { deepCopy, toRevision, type UnstructuredObject } from '@kapstan/api';
import { definitionResource, definitionsId } from '@kapstan/apiextensions';
import type { ResourceDefinition } from '@kapstan/apiserver';
import {
  ResourceStack,
  type StorageMediaType,
  storageCodec,
  storageCodecOf,
  storageMediaTypes,
} from '@kapstan/apiserver';
import { factTypes, signedRequest, testContext, testDefinition } from '@kapstan/apiserver/testing';
import { storageKeyFacts } from '@kapstan/kinds/facts';
import { builtinFacts, builtinResources } from '@kapstan/kubernetes';
import { MemoryEngine } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';

interface Case {
  readonly path: string;
  readonly request: UnstructuredObject;
}

const protobuf = 'application/vnd.kubernetes.protobuf';
const configMap = { group: '', version: 'v1', kind: 'ConfigMap' };
const revision = toRevision(7);
const file = new URL('../../../kubernetes/fixtures/defaults.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: Record<string, Case> };

/** Kinds that the recordings have no example of. */
const added: readonly (readonly [path: string, kind: string, fields: object])[] = [
  [
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    'CertificateSigningRequest',
    { spec: { request: signedRequest, signerName: 'example.com/x', usages: ['client auth'] } },
  ],
  ['/apis/storage.k8s.io/v1/csistoragecapacities', 'CSIStorageCapacity', { storageClassName: 'x' }],
  [
    '/apis/storage.k8s.io/v1/volumeattributesclasses',
    'VolumeAttributesClass',
    { driverName: 'd', parameters: { a: 'b' } },
  ],
  [
    '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies',
    'MutatingAdmissionPolicy',
    {
      spec: {
        reinvocationPolicy: 'Never',
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        },
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
      },
    },
  ],
  [
    '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings',
    'MutatingAdmissionPolicyBinding',
    { spec: { policyName: 'x' } },
  ],
  ['/apis/resource.k8s.io/v1/resourceclaimtemplates', 'ResourceClaimTemplate', { spec: { spec: { devices: {} } } }],
  [
    '/apis/resource.k8s.io/v1/resourceslices',
    'ResourceSlice',
    { spec: { driver: 'd', nodeName: 'n', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } } },
  ],
];
const cases: Readonly<Record<string, Case>> = {
  ...recorded.cases,
  ...Object.fromEntries(
    added.map(([path, kind, fields]) => {
      const apiVersion = path.split('/').slice(2, 4).join('/');
      return [kind, { path, request: { apiVersion, kind, metadata: { name: 'x' }, ...fields } }];
    }),
  ),
};

describe('the codec of a kind', () => {
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { k: 'ü', n: '1' } };
  const read = { ...object, metadata: { name: 'a', resourceVersion: '7' } };

  it.each(storageMediaTypes)('of %s reads what any of them wrote, told by its first bytes', (mediaType) => {
    for (const other of storageMediaTypes) {
      const bytes = storageCodec(other, configMap, { types: factTypes }).encode(object);
      const codec = storageCodec(mediaType, configMap, { types: factTypes });
      expect(codec.decode(bytes, revision)).toEqual(read);
      const wire = codec.wireJson?.(bytes, revision);
      if (wire !== undefined) expect(JSON.parse(Buffer.from(wire).toString())).toEqual(read);
      if (other !== mediaType) expect(codec.isSameContent?.(codec.encode(object), bytes) ?? false).toBe(false);
    }
  });

  it.each<[StorageMediaType, RegExp]>([
    ['application/json', /^{"kind":"ConfigMap".*}\n$/],
    ['application/yaml', /^apiVersion: v1\ndata:\n {2}k: ü\n {2}"n": "1"\nkind: ConfigMap\nmetadata:\n {2}name: a\n$/],
    [protobuf, /^k8s\0/],
  ])('writes %s', (mediaType, expected) => {
    expect(Buffer.from(storageCodec(mediaType, configMap, { types: factTypes }).encode(object)).toString()).toMatch(
      expected,
    );
  });

  it('is refused where the kind has no such form', () => {
    const custom = { group: 'example.com', version: 'v1', kind: 'Widget' };
    expect(() => storageCodec(protobuf, custom)).toThrow(new TypeError('example.com/v1 Widget has no protobuf form'));
    for (const mediaType of ['application/json', 'application/yaml'] as const) {
      expect(storageCodec(mediaType, custom).mediaType).toBe(mediaType);
    }
  });

  it.each(['', '\u0000', 'k8s\u0000\u000a', '- a\n', '[1]', '{"a":', 'k8s'])('refuses the bytes %j', (text) => {
    for (const mediaType of storageMediaTypes) {
      expect(() =>
        storageCodec(mediaType, configMap, { types: factTypes }).decode(Buffer.from(text), revision),
      ).toThrow();
    }
  });
});

describe('a value of another version or kind', () => {
  const gvk = (apiVersion: string, kind: string) => {
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    return { group, version, kind };
  };
  const put = (apiVersion: string, kind: string): Uint8Array =>
    Buffer.from(JSON.stringify({ apiVersion, kind, metadata: {} }));

  it.each([
    ['admissionregistration.k8s.io/v1beta1', 'admissionregistration.k8s.io/v1', 'MutatingAdmissionPolicy'],
    ['networking.k8s.io/v1', 'networking.k8s.io/v1beta1', 'IPAddress'],
    ['storage.k8s.io/v1', 'storage.k8s.io/v1beta1', 'VolumeAttributesClass'],
  ])('is read where the shape is the same: %s, stored as %s %s', (expected, found, kind) => {
    const codec = storageCodec(protobuf, gvk(expected, kind), { types: factTypes });
    expect(codec.decode(put(found, kind), revision).apiVersion).toBe(found);
    expect(
      codec.decode(storageCodec(protobuf, gvk(found, kind), { types: factTypes }).encode({ metadata: {} }), revision)
        .kind,
    ).toBe(kind);
  });

  it.each([
    ['autoscaling/v2', 'HorizontalPodAutoscaler', 'autoscaling/v1', 'HorizontalPodAutoscaler'],
    ['resource.k8s.io/v1', 'ResourceClaim', 'resource.k8s.io/v1beta1', 'ResourceClaim'],
    ['v1', 'Event', 'events.k8s.io/v1', 'Event'],
    ['v1', 'ConfigMap', 'v1', 'Secret'],
  ])('is refused where it is not: %s %s, stored as %s %s', (expected, kind, foundVersion, foundKind) => {
    const codec = storageCodec(protobuf, gvk(expected, kind), { types: factTypes });
    const message = `${foundVersion} ${foundKind} is stored where ${expected} ${kind} belongs`;
    expect(() => codec.decode(put(foundVersion, foundKind), revision)).toThrow(new TypeError(message));
    const bytes = storageCodec(protobuf, gvk(foundVersion, foundKind), { types: factTypes }).encode({ metadata: {} });
    expect(() => codec.decode(bytes, revision)).toThrow(message);
  });

  it.each(['application/json', protobuf] as const)(
    'becomes the stored version where the kind knows how: an autoscaler of v1 in %s',
    (mediaType) => {
      const [definition] = builtinResources({}).filter(
        ({ kind, version }) => kind === 'HorizontalPodAutoscaler' && version === 'v2',
      );
      const old = {
        apiVersion: 'autoscaling/v1',
        kind: 'HorizontalPodAutoscaler',
        metadata: {
          name: 'h',
          annotations: { 'autoscaling.alpha.kubernetes.io/behavior': '{"ScaleUp":{"SelectPolicy":"Max"}}' },
        },
        spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd' }, targetCPUUtilizationPercentage: 50 },
      };
      const bytes = storageCodec(mediaType, gvk('autoscaling/v1', 'HorizontalPodAutoscaler'), {
        types: factTypes,
      }).encode(old);
      const codec = storageCodecOf(definition!, { mediaType, isShared: false });
      const object = codec.decode(bytes, revision);
      expect(object).toMatchObject({
        apiVersion: 'autoscaling/v2',
        metadata: { name: 'h', resourceVersion: String(revision) },
        spec: {
          metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 50 } } }],
          behavior: { scaleUp: { selectPolicy: 'Max' } },
        },
      });
      expect(object.metadata?.annotations).toBeUndefined();
      expect(codec.wireJson?.(bytes, revision), 'the bytes are of v1').toBeUndefined();
      expect(codec.isSameContent?.(bytes, codec.encode(object)) ?? false).toBe(false);
    },
  );

  it('is refused where no such version is known', () => {
    const codec = storageCodec(protobuf, gvk('batch/v1', 'CronJob'), { types: factTypes });
    const message = 'no kind "CronJob" is registered for version "batch/v1beta1"';
    expect(() => codec.decode(put('batch/v1beta1', 'CronJob'), revision)).toThrow(message);
  });
});

describe('the codec of a resource', () => {
  it('is JSON for custom resources, definitions and API services, whatever is asked for', () => {
    const custom = testDefinition({ group: 'example.com', kind: 'Widget', resource: 'widgets', isCustom: true });
    const definitions = [custom, definitionOf('CustomResourceDefinition'), definitionOf('APIService')];
    for (const definition of definitions) {
      for (const mediaType of storageMediaTypes) {
        expect(storageCodecOf(definition, { mediaType, isShared: false }).mediaType, definition.kind).toBe(
          'application/json',
        );
      }
    }
  });

  it.each(storageMediaTypes)('is %s for all other kinds', (mediaType) => {
    const others = definitions.filter(({ kind }) => kind !== 'APIService' && kind !== 'CustomResourceDefinition');
    expect(others.length).toBeGreaterThan(50);
    for (const definition of others)
      expect(storageCodecOf(definition, { mediaType, isShared: false }).mediaType).toBe(mediaType);
  });
});

describe('a store that other servers write to', () => {
  const stored = {
    kind: 'Job',
    apiVersion: 'batch/v1',
    metadata: { name: 'a' },
    spec: { template: { metadata: { labels: { a: 'b' } } } },
  };
  const options = (isShared: boolean) => ({ mediaType: protobuf, isShared }) as const;

  it('is read with the defaults of this release, in every form', () => {
    const definition = definitionOf('Job');
    for (const mediaType of storageMediaTypes) {
      const bytes = storageCodec(
        mediaType,
        { group: 'batch', version: 'v1', kind: 'Job' },
        { types: factTypes },
      ).encode(stored);
      const codec = storageCodecOf(definition, { mediaType, isShared: true });
      const object = codec.decode(bytes, revision);
      expect(object).toMatchObject({
        metadata: { labels: { a: 'b' }, resourceVersion: '7' },
        spec: { backoffLimit: 6 },
      });
      expect(codec.wireJson?.(bytes, revision)).toBeUndefined();
      expect(storageCodecOf(definition, options(false)).decode(bytes, revision)).not.toHaveProperty(
        'spec.backoffLimit',
      );
    }
  });

  it('holds custom resources in the bytes of Go: members sorted and escaped', () => {
    const definition = testDefinition({ group: 'example.com', kind: 'Widget', resource: 'widgets', isCustom: true });
    const object = {
      kind: 'Widget',
      apiVersion: 'example.com/v1',
      spec: { b: [{ d: 1, c: '<ü>' }], a: null, __proto__x: {} },
    };
    const codec = storageCodecOf(definition, options(true));
    expect(Buffer.from(codec.encode(object)).toString()).toBe(
      '{"apiVersion":"example.com/v1","kind":"Widget","spec":{"__proto__x":{},"a":null,"b":[{"c":"\\u003cü\\u003e","d":1}]}}\n',
    );
    expect(codec.decode(codec.encode(object), revision)).toMatchObject(object);
  });

  it('shows the type of volume claim templates, which protobuf does not hold', () => {
    const definition = definitionOf('StatefulSetClaims');
    const codec = storageCodecOf(definition, options(true));
    const object = deepCopy(cases.StatefulSetClaims?.request ?? {});
    definition.applyDefaults(object);
    const read = codec.decode(codec.encode(object), revision) as { spec?: { volumeClaimTemplates?: unknown[] } };
    expect(read.spec?.volumeClaimTemplates).toMatchObject([{ kind: 'PersistentVolumeClaim', apiVersion: 'v1' }]);
  });
});

const clock = {
  now: () => 1_767_225_600_000,
  monotonicNow: () => 0,
  setTimer: () => () => undefined,
  setBackgroundTimer: () => () => undefined,
};
/** The stack has its own store, so that the one under test holds nothing but its case. */
let addresses: ResourceStack | undefined;
const definitions = [
  ...builtinResources({
    clock,
    serviceClusterIpRange: '10.96.0.0/16',
    findStore: (_group, _version, resource) => (resource === 'ipaddresses' ? addresses?.served.store : undefined),
  }),
  definitionResource({ clock, facts: builtinFacts(definitionsId) }),
];
const idOf = ({ group, version, resource }: ResourceDefinition): string =>
  `${group === '' ? '' : `${group}/`}${version}/${resource}`;

function definitionOf(name: string): ResourceDefinition {
  const path = cases[name]?.path.replace(/^\/apis?\//, '').replace('namespaces/facts/', '');
  const definition = definitions.find((candidate) => idOf(candidate) === path);
  if (definition === undefined) throw new Error(`no definition of ${name}`);
  return definition;
}

describe('what is in the store', () => {
  it('has an example for every kind that is stored', () => {
    const examples = new Set(Object.keys(cases).map((name) => idOf(definitionOf(name))));
    const stored = definitions.filter(({ storagePrefix }) => storagePrefix !== '').map(idOf);
    expect(stored.filter((id) => !examples.has(id))).toEqual([]);
  });

  it.each(Object.keys(cases))('%s lies at the key, in the version and the form of a kube-apiserver', async (name) => {
    const definition = definitionOf(name);
    const facts = storageKeyFacts().resources[idOf(definition)];
    const { name: created, values } = await stored(definition, cases[name]?.request ?? {});
    const key = facts?.key.replace('{namespace}', 'facts').replace('{name}', created) ?? '';
    const value = values.get(key) ?? new Uint8Array();
    expect([...values.keys()]).toEqual([key]);
    const isJson = facts?.media === 'application/json';
    expect(Buffer.from(value).toString('latin1')).toMatch(isJson ? /^{/ : /^k8s\0/);
    expect(Buffer.from(value).includes('resourceVersion')).toBe(false);
    const kind = { ...definition.storageVersion, kind: definition.kind };
    const raw = storageCodec('application/json', kind, { types: factTypes }).decode(value, revision);
    expect([raw.apiVersion, raw.kind]).toEqual([facts?.apiVersion, facts?.kind]);
  });
});

/** Returns everything in a store after an object was created. */
async function stored(
  definition: ResourceDefinition,
  request: UnstructuredObject,
): Promise<{ readonly name: string; readonly values: ReadonlyMap<string, Uint8Array> }> {
  const engine = new MemoryEngine();
  const codecFor = (resource: ResourceDefinition) => storageCodecOf(resource, { mediaType: protobuf, isShared: true });
  const stack = new ResourceStack(definition, { engine, watchCache: false, codecFor });
  addresses = new ResourceStack(definitionOf('IPAddress'), { engine: new MemoryEngine(), watchCache: false });
  const object = deepCopy(request);
  definition.applyDefaults(object);
  const namespace = definition.namespaced ? 'facts' : '';
  const created = await stack.served.store.create({ ...testContext(), namespace }, object);
  const { kvs } = await engine.range({ start: '/', end: '0' });
  await stack.close();
  await addresses.close();
  return {
    name: created.object.metadata?.name ?? '',
    values: new Map(kvs.map((kv) => [kv.key, kv.value])),
  };
}
