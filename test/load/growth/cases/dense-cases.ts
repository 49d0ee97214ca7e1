// Cases whose values are as short as the format allows, so that a body holds as many as it may: empty messages in protobuf, empty objects in
// JSON, options of a deletion.
import { configMaps, type GrowthCase, mostMembers, pods, times } from '../growth-case.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';

/** Returns a field of a protobuf message: a text or a message. */
export function field(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest > 127; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), bytes]);
}

/** Returns an object in its protobuf envelope. */
export function inProtobuf(kind: string, ...fields: readonly Buffer[]): Buffer {
  const type = Buffer.concat([field(1, kind === 'DeleteOptions' ? 'meta.k8s.io/v1' : 'v1'), field(2, kind)]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, Buffer.concat(fields))]);
}

/** Returns a list that holds one field many times. */
const repeated = (n: number, one: Buffer): Buffer => Buffer.alloc(n * one.length, one);

const metadata = (...fields: readonly Buffer[]): Buffer => field(1, Buffer.concat([field(1, 'growth'), ...fields]));
const keyOf = (i: number): Buffer => field(2, field(1, i.toString(36)));

const emptyContainersInProtobuf = (n: number) => inProtobuf('Pod', metadata(), field(2, repeated(n, field(2, ''))));
const emptyContainers = (n: number) =>
  `{"metadata":{"name":"growth"},"spec":{"containers":[${Array(n).fill('{}').join()}]}}`;

const statefulSets = '/apis/apps/v1/namespaces/default/statefulsets';

interface Sent {
  readonly full: number;
  readonly path: string;
  readonly body: (n: number) => Buffer | string;
  readonly contentType?: string;
  /** Absent: any below 500. */
  readonly codes?: readonly number[];
}

const posts = (name: string, { full, path, body, contentType = protobuf, codes }: Sent): GrowthCase => ({
  name,
  full,
  ...(codes && { codes }),
  request: (n) => ({ method: 'POST', path, contentType, body: body(n) }),
  made: [`${path}/growth`],
});

const deletes = (name: string, { full, body, contentType = protobuf }: Omit<Sent, 'path'>): GrowthCase => ({
  name,
  full,
  prepare: () => [{ method: 'POST', path: configMaps, body: { metadata: { name: 'growth' } } }],
  request: (n) => ({ method: 'DELETE', path: `${configMaps}/growth`, contentType, body: body(n) }),
  made: [`${configMaps}/growth`],
});

export const denseCases: readonly GrowthCase[] = [
  ...[protobuf, 'application/json'].map((contentType) =>
    posts(`dense: more values than a body may hold as ${contentType}`, {
      full: 1_000_000,
      path: pods,
      contentType,
      body: (n) => (contentType === protobuf ? emptyContainersInProtobuf(n) : emptyContainers(n)),
      // The short run stays within the limits.
      codes: [413, 422],
    }),
  ),
  posts('dense: empty containers in protobuf', {
    full: 150_000,
    path: pods,
    body: emptyContainersInProtobuf,
  }),
  posts('dense: empty finalizers in protobuf', {
    full: 490_000,
    path: configMaps,
    body: (n) => inProtobuf('ConfigMap', metadata(repeated(n, field(14, '')))),
  }),
  posts('dense: one key again and again in protobuf', {
    full: mostMembers,
    path: configMaps,
    body: (n) => inProtobuf('ConfigMap', metadata(), repeated(n, field(2, ''))),
  }),
  posts('dense: short keys in protobuf', {
    full: mostMembers,
    path: configMaps,
    body: (n) => inProtobuf('ConfigMap', metadata(), ...times(n, keyOf)),
  }),
  posts('dense: unknown fields in protobuf', {
    full: 490_000,
    path: configMaps,
    body: (n) => inProtobuf('ConfigMap', metadata(), repeated(n, field(15, ''))),
  }),
  posts('dense: empty containers in JSON', {
    full: 150_000,
    path: pods,
    contentType: 'application/json',
    body: emptyContainers,
  }),
  posts('dense: members of one short name in JSON', {
    full: mostMembers,
    path: configMaps,
    contentType: 'application/json',
    body: (n) => `{"metadata":{"name":"growth"},"data":{${Array(n).fill('"":""').join()}}}`,
  }),
  posts('dense: short names in JSON', {
    full: mostMembers,
    path: configMaps,
    contentType: 'application/json',
    body: (n) => `{"metadata":{"name":"growth"},"data":{${times(n, (i) => `"${i.toString(36)}":""`).join()}}}`,
  }),
  posts('dense: empty claim templates in JSON', {
    full: 150_000,
    path: statefulSets,
    contentType: 'application/json',
    body: (n) => `{"metadata":{"name":"growth"},"spec":{"volumeClaimTemplates":[${Array(n).fill('{}').join()}]}}`,
  }),
  posts('dense: one map entry of many keys in protobuf', {
    full: 490_000,
    path: configMaps,
    body: (n) => inProtobuf('ConfigMap', metadata(), field(2, repeated(n, field(1, '')))),
  }),
  posts('dense: packed numbers in short pieces', {
    full: 480_000,
    path: pods,
    body: (n) =>
      inProtobuf('Pod', metadata(), field(2, field(14, repeated(n / 4_000, field(4, Buffer.alloc(4_000, 5)))))),
  }),
  posts('dense: kinds of one envelope', {
    full: 1_000_000,
    path: configMaps,
    body: (n) => Buffer.concat([Buffer.from('k8s\0'), repeated(n, field(1, ''))]),
    codes: [413],
  }),
  deletes('dense: wrong dry runs of a deletion', {
    full: 490_000,
    contentType: 'application/json',
    body: (n) => `{"dryRun":[${Array(n).fill('"x"').join()}]}`,
  }),
  deletes('dense: dry runs of a deletion in protobuf', {
    full: 490_000,
    body: (n) => inProtobuf('DeleteOptions', repeated(n, field(5, 'All'))),
  }),
  deletes('dense: dry runs of a deletion in JSON', {
    full: 490_000,
    contentType: 'application/json',
    body: (n) => `{"dryRun":[${Array(n).fill('"All"').join()}]}`,
  }),
  deletes('dense: unknown options of a deletion', {
    full: mostMembers,
    contentType: 'application/json',
    body: (n) => `{${times(n, (i) => `"${i.toString(36)}":1`).join()}}`,
  }),
];
