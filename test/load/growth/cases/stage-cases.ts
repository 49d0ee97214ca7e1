// Cases of a write's stages besides create and patch: updates, /status, defaults, generations, other formats. Each
// object is created before.
import {
  configMap,
  configMaps,
  environment,
  type GrowthCase,
  type GrowthRequest,
  members,
  pod,
  podOfEnv,
  pods,
  times,
} from '../growth-case.ts';
import { customObject, customResources } from './custom-resource-cases.ts';
import { field, inProtobuf } from './dense-cases.ts';

const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const protobuf = 'application/vnd.kubernetes.protobuf';
const yaml = 'application/yaml';

interface Change {
  readonly full: number;
  readonly path: string;
  readonly body: (n: number) => object;
  readonly request: (path: string, body: object) => GrowthRequest;
}

/** Returns a case that changes an object created before. */
const after = (name: string, { full, path, body, request }: Change): GrowthCase => ({
  name,
  full,
  prepare: (n) => [{ method: 'POST', path, body: body(n) }],
  request: (n) => request(`${path}/growth`, body(n)),
  made: [`${path}/growth`],
});

/** A stored object has at most 1.5 MiB. */
const ofPod = { path: pods, full: 45_000 };
const podOfPorts = (n: number) =>
  pod({ containers: times(n, (i) => ({ name: `c${i}`, image: 'i', ports: [{ containerPort: 1 }] })) });
const ofCustom = { path: customResources, full: 50_000 };
const customMap = (n: number) => customObject({ map: times(n, (i) => ({ name: `n${i}` })) });
const ofData = { path: configMaps, full: 80_000 };
const data = (n: number) => configMap({ data: members(n, () => 'x') });
const owners = (uid: (i: number) => string) => (n: number) =>
  configMap({}, { ownerReferences: times(n, (i) => ({ apiVersion: 'v1', kind: 'Pod', name: `p${i}`, uid: uid(i) })) });

const put = (path: string, body: object): GrowthRequest => ({ method: 'PUT', path, body });
const putStatus = (path: string, body: object): GrowthRequest => ({ method: 'PUT', path: `${path}/status`, body });
const dryRun = (path: string, body: object): GrowthRequest => ({ method: 'PUT', path: `${path}?dryRun=All`, body });
const withImage = (path: string, body: object): GrowthRequest => put(path, withContainer(body, { image: 'j' }));
const withLabel = (path: string, body: object): GrowthRequest => put(path, withMetadata(body, { labels: { a: 'b' } }));

function withMetadata(body: object, more: object): object {
  const { metadata = {} } = body as { metadata?: object };
  return { ...body, metadata: { ...metadata, ...more } };
}

function withContainer(body: object, more: object): object {
  const { spec } = body as { spec: { containers: [object] } };
  return { ...body, spec: { ...spec, containers: [{ ...spec.containers[0], ...more }] } };
}

/** Returns {@link podOfEnv} as protobuf, with Kubernetes' field numbers. */
function podInProtobuf(n: number): Buffer {
  const variables = environment(n).map(({ name, value }) => field(7, Buffer.concat([field(1, name), field(2, value)])));
  const container = Buffer.concat([field(1, 'c'), field(2, 'i'), ...variables]);
  return inProtobuf('Pod', field(1, field(1, 'growth')), field(2, field(2, container)));
}

const as = (accept: string) => (path: string) => ({ method: 'GET', path, accept }) as const;

export const stageCases: readonly GrowthCase[] = [
  after('stage: update of a pod of many env', { ...ofPod, body: podOfEnv, request: withImage }),
  after('stage: update of the status of a pod of many env', { ...ofPod, body: podOfEnv, request: putStatus }),
  after('stage: update of a pod of many containers', { ...ofPod, full: 3_000, body: podOfPorts, request: withLabel }),
  after('stage: update of a ConfigMap of many keys', { ...ofData, body: data, request: withLabel }),
  after('stage: dry run of an update of a ConfigMap', { ...ofData, body: data, request: dryRun }),
  after('stage: merge patch of a custom resource', {
    ...ofCustom,
    body: customMap,
    request: (path) => ({
      ...{ method: 'PATCH', path, contentType: 'application/merge-patch+json' },
      body: { spec: { text: 'ab' } },
    }),
  }),
  after('stage: merge patch of the status of a custom resource', {
    ...ofCustom,
    body: customMap,
    request: (path) => ({
      ...{ method: 'PATCH', path: `${path}/status`, contentType: 'application/merge-patch+json' },
      body: { status: { phase: 'a' } },
    }),
  }),
  after('stage: update with many owners', {
    ...ofData,
    full: 22_000,
    body: owners((i) => `u${i}`),
    request: withLabel,
  }),
  after('stage: update with many owners of one uid', {
    ...{ ...ofData, full: 24_000, body: owners(() => 'u'), request: withLabel },
  }),
  after('stage: ConfigMap as a Table', { ...ofData, body: data, request: as(table) }),
  after('stage: pod as a Table', { ...ofPod, body: podOfEnv, request: as(table) }),
  after('stage: pod in protobuf', { ...ofPod, body: podOfEnv, request: as(protobuf) }),
  after('stage: ConfigMap in protobuf', { ...ofData, body: data, request: as(protobuf) }),
  {
    name: 'stage: create in YAML',
    full: 60_000,
    request: (n) => ({
      ...{ method: 'POST', path: configMaps, contentType: yaml },
      body: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: growth}\ndata:\n${times(n, (i) => `  k${i}: x\n`).join('')}`,
    }),
    made: [`${configMaps}/growth`],
  },
  {
    name: 'stage: create in protobuf',
    full: 60_000,
    request: (n) => ({
      ...{ method: 'POST', path: pods, contentType: protobuf },
      body: podInProtobuf(n),
    }),
    made: [`${pods}/growth`],
  },
  {
    name: 'stage: dry run of a create',
    full: 60_000,
    request: (n) => ({ method: 'POST', path: `${pods}?dryRun=All`, body: podOfEnv(n) }),
  },
];
