import { ExactNumber, isStatusError, type StatusError, stringifyJson } from '@kapstan/api';
import { formatApiVersion } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { factTypes } from '../testing/fact-types.ts';
import { decodeObject } from '../testing/whole-work.ts';
import type { DecodeObjectOptions } from './decode-object.ts';
import type { SchemaNode } from './node/schema-node.ts';

const kinds = {
  ConfigMap: { group: '', version: 'v1', kind: 'ConfigMap' },
  Secret: { group: '', version: 'v1', kind: 'Secret' },
  Pod: { group: '', version: 'v1', kind: 'Pod' },
  Service: { group: '', version: 'v1', kind: 'Service' },
  Lease: { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease' },
  Deployment: { group: 'apps', version: 'v1', kind: 'Deployment' },
} as const;

interface Outcome {
  readonly object?: Record<string, unknown>;
  readonly warnings: readonly string[];
  readonly error?: StatusError;
}

function decode(
  body: unknown,
  kind: keyof typeof kinds = 'ConfigMap',
  options: Partial<DecodeObjectOptions> = {},
): Outcome {
  const warnings: string[] = [];
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { gvk = kinds[kind] } = options;
  try {
    const object = decodeObject(new TextEncoder().encode(text), {
      mediaType: 'application/json',
      gvk,
      schema: factTypes.schemaOfKind(formatApiVersion(gvk), gvk.kind) as SchemaNode,
      fieldValidation: 'Warn',
      warn: (warning) => warnings.push(warning),
      ...options,
    });
    return { object, warnings };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return { warnings, error };
  }
}

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } };
const unrecognized = 'the object provided is unrecognized (must be of type ConfigMap): ';
const noVersion = `${unrecognized}couldn't get version/kind; json parse error: `;
const cannot = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: ';

describe('a body that cannot be read is a 400 in the words of Go', () => {
  it.each<readonly [what: string, body: unknown, message: string]>([
    ['empty', '', `${noVersion}unexpected end of JSON input (<empty>)`],
    ['broken off', '{', `${noVersion}unexpected end of JSON input ({)`],
    [
      'a list',
      '[]',
      `${noVersion}json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)`,
    ],
    [
      'with a trailing comma',
      '{"a":1,}',
      `${noVersion}invalid character '}' looking for beginning of object key string ({"a":1,})`,
    ],
    ['with text behind it', '{} x', `${noVersion}invalid character 'x' after top-level value ({} x)`],
    [
      'with a byte order mark',
      '\uFEFF{}',
      `${noVersion}invalid character 'ï' looking for beginning of value (efbbbf7b7d)`,
    ],
    [
      'long and broken',
      `{"data":"${'x'.repeat(40)}`,
      `${noVersion}unexpected end of JSON input ({"data":"xxxxxxxxxxxxxxxxxxxxx ...)`,
    ],
    [
      'with a kind that is no text',
      { kind: 5 },
      `${noVersion}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})`,
    ],
    [
      'with a version of three parts',
      { apiVersion: 'a/b/c' },
      `${unrecognized}unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})`,
    ],
    [
      'nested too deep',
      `{"a":${'['.repeat(1001)}${']'.repeat(1001)}}`,
      `${noVersion}invalid character '[' exceeded max depth ({"a":[[[[[[[[[[[[[[[[[[[[[[[[[ ...)`,
    ],
    [
      'a kind that is registered and no resource',
      { apiVersion: 'v1', kind: 'List', items: [] },
      'List in version "v1" cannot be handled as a ConfigMap: converting (v1.List) to (core.ConfigMap): unknown conversion',
    ],
    [
      'another kind of a version that is served no longer',
      { apiVersion: 'extensions/v1beta1', kind: 'Ingress' },
      'Ingress in version "v1beta1" cannot be handled as a ConfigMap: converting (v1beta1.Ingress) to (core.ConfigMap): unknown conversion',
    ],
  ])('%s', (_what, body, message) => {
    expect(decode(body).error?.status).toMatchObject({ code: 400, reason: 'BadRequest', message });
  });
});

describe('kind and version must be those of the endpoint', () => {
  it.each<readonly [what: string, body: unknown, message: string]>([
    [
      'another kind',
      { apiVersion: 'v1', kind: 'Secret' },
      'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
    [
      'an unknown kind',
      { apiVersion: 'v1', kind: 'Nothing' },
      'Nothing in version "v1" cannot be handled as a ConfigMap: no kind "Nothing" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'an unknown version',
      { apiVersion: 'v2', kind: 'ConfigMap' },
      'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'another group',
      { apiVersion: 'apps/v1', kind: 'ConfigMap' },
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
  ])('%s', (_what, body, message) => {
    expect(decode(body).error?.status).toMatchObject({ code: 400, reason: 'BadRequest', message });
  });

  it('fills in what the body leaves out', () => {
    expect(decode({ metadata: { name: 'x' } }).object).toEqual(configMap);
    expect(decode('null').object).toEqual({ apiVersion: 'v1', kind: 'ConfigMap' });
  });

  it.each(['apps/v1beta1', 'extensions/v1beta1'])(
    'is refused for its version where that is known: %s',
    (apiVersion) => {
      const gvk = { group: 'apps', version: 'v1', kind: 'Deployment' };
      expect(decode({ apiVersion, kind: 'Deployment', spec: {} }, 'Deployment', { gvk }).error?.message).toBe(
        `the API version in the data (${apiVersion}) does not match the expected API version (apps/v1)`,
      );
    },
  );

  it('takes another version of the kind where the endpoint says so', () => {
    const gvk = { group: 'policy', version: 'v1', kind: 'DeleteOptions' };
    const body = { apiVersion: 'apps/v1', kind: 'DeleteOptions', gracePeriodSeconds: 3 };
    expect(decode(body, 'Pod', { gvk }).error?.message).toBe(
      'the API version in the data (apps/v1) does not match the expected API version (policy/v1)',
    );
    expect(decode(body, 'Pod', { gvk, acceptsVersion: () => true }).object).toEqual(body);
  });
});

describe('a value of the wrong type is a 400 that names its place', () => {
  const pod = (spec: unknown): unknown => ({ apiVersion: 'v1', kind: 'Pod', spec });
  it.each<readonly [kind: keyof typeof kinds, body: unknown, why: string]>([
    [
      'ConfigMap',
      { data: { a: 1 } },
      'json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    [
      'ConfigMap',
      { data: ['a'] },
      'json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string',
    ],
    [
      'ConfigMap',
      { metadata: 'x' },
      'json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta',
    ],
    [
      'ConfigMap',
      { immutable: 'yes' },
      'json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool',
    ],
    [
      'Pod',
      pod({ nodeName: 5 }),
      'json: cannot unmarshal number into Go struct field PodSpec.spec.nodeName of type string',
    ],
    [
      'Pod',
      pod({ volumes: [{ hostPath: 5 }] }),
      'json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource',
    ],
    [
      'Pod',
      pod({ containers: [{ livenessProbe: { httpGet: { path: 5 } } }] }),
      'json: cannot unmarshal number into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.path of type string',
    ],
    [
      'Pod',
      pod({ restartPolicy: 5 }),
      'json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy',
    ],
    [
      'Pod',
      pod({ containers: [{ securityContext: { capabilities: { add: 'x' } } }] }),
      'json: cannot unmarshal string into Go struct field Capabilities.spec.containers.securityContext.capabilities.add of type []v1.Capability',
    ],
    [
      'Pod',
      { metadata: { uid: 5 } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.uid of type types.UID',
    ],
    [
      'Pod',
      pod({ containers: 'x' }),
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      'Pod',
      pod({ containers: [{ ports: [{ hostPort: true }] }] }),
      'json: cannot unmarshal bool into Go struct field ContainerPort.spec.containers.ports.hostPort of type int32',
    ],
    [
      'Deployment',
      { spec: { replicas: 'x' } },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'Deployment',
      { spec: { replicas: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'Deployment',
      '{"spec":{"replicas":2.0}}',
      'json: cannot unmarshal number 2.0 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'Deployment',
      { spec: { replicas: 3_000_000_000 } },
      'json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'Deployment',
      '{"metadata":{"generation":9223372036854775808}}',
      'json: cannot unmarshal number 9223372036854775808 into Go struct field ObjectMeta.metadata.generation of type int64',
    ],
    ['Secret', { data: { a: '9' } }, 'illegal base64 data at input byte 0'],
    ['Secret', { data: { a: 'YWJj%' } }, 'illegal base64 data at input byte 4'],
    ['Secret', { data: { a: 'YWI' } }, 'illegal base64 data at input byte 0'],
    [
      'Service',
      { spec: { ports: [{ targetPort: false }] } },
      'json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32',
    ],
    [
      'Pod',
      pod({ containers: [{ resources: { limits: { cpu: 'x' } } }] }),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      'Pod',
      pod({ containers: [{ resources: { limits: { cpu: '1Q' } } }] }),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    ['Pod', pod({ containers: [{ resources: { limits: { cpu: '1mm' } } }] }), "unable to parse quantity's suffix"],
    [
      'ConfigMap',
      { metadata: { creationTimestamp: 'x' } },
      'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ],
    [
      'ConfigMap',
      { metadata: { creationTimestamp: '2024-02-30T00:00:00Z' } },
      'parsing time "2024-02-30T00:00:00Z": day out of range',
    ],
    [
      'Lease',
      { spec: { renewTime: '2024-01-02T03:04:05Z' } },
      'parsing time "2024-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
  ])('%s %j', (kind, body, why) => {
    expect(decode(body, kind).error?.status).toMatchObject({
      code: 400,
      message: `${kind} in version "v1" cannot be handled as a ${kind}: ${why}`,
    });
  });

  it('reports the first of several', () => {
    const body = { data: { a: 1 }, immutable: 'x' };
    expect(decode(body).error?.message).toBe(
      `${cannot}json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
    );
  });
});

describe('unknown and repeated fields', () => {
  const body = { ...configMap, data: { k: 'v' }, extra: 1, more: { x: 1 } };

  it('are dropped, with a warning by default', () => {
    expect(decode(body)).toEqual({
      object: { ...configMap, data: { k: 'v' } },
      warnings: ['unknown field "extra"', 'unknown field "more"'],
    });
  });

  it('are dropped in silence with Ignore', () => {
    expect(decode(body, 'ConfigMap', { fieldValidation: 'Ignore' })).toEqual({
      object: { ...configMap, data: { k: 'v' } },
      warnings: [],
    });
  });

  it.each<readonly [kind: keyof typeof kinds, body: unknown, complaints: string]>([
    ['ConfigMap', { extra: 1 }, 'unknown field "extra"'],
    ['ConfigMap', { Data: {} }, 'unknown field "Data"'],
    ['ConfigMap', { metadata: { nme: 'x' } }, 'unknown field "metadata.nme"'],
    [
      'Deployment',
      { metadata: { foo: 1 }, spec: { bar: 2 } },
      'unknown field "metadata.foo", unknown field "spec.bar"',
    ],
    [
      'Deployment',
      { spec: { template: { spec: { containers: [{ imagePullPolice: 'x' }] } }, replica: 3 } },
      'unknown field "spec.template.spec.containers[0].imagePullPolice", unknown field "spec.replica"',
    ],
    ['ConfigMap', '{"data":{"a":"1","a":"2"}}', 'duplicate field "data.a"'],
    ['ConfigMap', '{"data":{"a":"1"},"data":{"a":"2"}}', 'duplicate field "data"'],
    [
      'ConfigMap',
      '{"x":1,"data":{"a":"1","a":"2"},"metadata":{"name":"a","name":"b","y":1}}',
      'unknown field "x", duplicate field "data.a", duplicate field "metadata.name", unknown field "metadata.y"',
    ],
  ])('are refused with Strict: %s %j', (kind, strictBody, complaints) => {
    expect(decode(strictBody, kind, { fieldValidation: 'Strict' }).error?.status).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: `${kind} in version "v1" cannot be handled as a ${kind}: strict decoding error: ${complaints}`,
    });
  });

  it('takes the last of repeated scalars and adds repeated structs up', () => {
    const text = '{"metadata":{"name":"a"},"metadata":{"labels":{"l":"1"}},"data":{"a":"1","a":"2"}}';
    expect(decode(text).object).toMatchObject({ metadata: { name: 'a', labels: { l: '1' } }, data: { a: '2' } });
  });

  it('complains at most a hundred times', () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`field${i}`, 1]));
    expect(decode(many).warnings).toHaveLength(100);
  });
});

describe('values as Go holds them', () => {
  it('takes null for absent in a struct and for the zero value in a map or a list', () => {
    const body = {
      ...configMap,
      data: { a: null },
      immutable: null,
      metadata: { name: 'x', finalizers: [null], labels: null },
    };
    expect(decode(body).object).toEqual({ ...configMap, data: { a: '' }, metadata: { name: 'x', finalizers: [''] } });
  });

  it('keeps names that JavaScript knows', () => {
    const text = '{"data":{"__proto__":"1","constructor":"2","toString":"3"}}';
    const { object } = decode(text);
    expect(Object.entries(object?.data as object)).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
      ['toString', '3'],
    ]);
  });

  it('writes times in UTC', () => {
    const body = { metadata: { creationTimestamp: '2024-01-02T03:04:05.7+01:00' } };
    expect(decode(body).object?.metadata).toEqual({ creationTimestamp: '2024-01-02T02:04:05Z' });
    const lease = { spec: { renewTime: '2024-01-02T03:04:05.123456+01:00' } };
    expect(decode(lease, 'Lease').object?.spec).toEqual({ renewTime: '2024-01-02T02:04:05.123456Z' });
  });

  it('keeps integers beyond doubles digit for digit', () => {
    const text = '{"metadata":{"generation":9007199254740993}}';
    expect(stringifyJson(decode(text).object?.metadata)).toBe('{"generation":9007199254740993}');
  });

  it('reads quantities that are numbers as their text', () => {
    const body = '{"spec":{"containers":[{"resources":{"limits":{"cpu":1,"memory":1.5}}}]}}';
    expect(decode(body, 'Pod').object?.spec).toEqual({
      containers: [{ resources: { limits: { cpu: '1', memory: '1.5' } } }],
    });
  });
});

describe('YAML', () => {
  const yaml = { mediaType: 'application/yaml' } as const;

  it('stands for the JSON it makes', () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  multi: |\n    one\n    two\n  quoted: "1"\n';
    expect(decode(text, 'ConfigMap', yaml).object).toEqual({
      ...configMap,
      data: { multi: 'one\ntwo\n', quoted: '1' },
    });
    expect(decode(JSON.stringify(configMap), 'ConfigMap', yaml).object).toEqual(configMap);
  });

  it.each<readonly [text: string, message: string]>([
    ['a: b: c: d', `${unrecognized}yaml: mapping values are not allowed in this context (613a20623a20633a2064)`],
    ['data:\n  k: 1\n', `${cannot}json: cannot unmarshal number into Go struct field ConfigMap.data of type string`],
    ['data:\n  k: yes\n', `${cannot}json: cannot unmarshal bool into Go struct field ConfigMap.data of type string`],
  ])('%j is refused', (text, message) => {
    expect(decode(text, 'ConfigMap', yaml).error?.status).toMatchObject({ code: 400, message });
  });

  it('reads a number that no double can hold as text', () => {
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 1e400}\n';
    expect(decode(text, 'ConfigMap', yaml).object).toMatchObject({ data: { a: '1e400' } });
  });

  it('names repeated keys by their lines', () => {
    const text = 'data:\n  a: "1"\n  a: "2"\nmetadata:\n  name: x\n';
    expect(decode(text, 'ConfigMap', yaml)).toEqual({
      object: { ...configMap, data: { a: '2' } },
      warnings: ['line 3: key "a" already set in map'],
    });
    expect(decode(text, 'ConfigMap', { ...yaml, fieldValidation: 'Strict' }).error?.message).toBe(
      `${cannot}strict decoding error: yaml: unmarshal errors:\n  line 3: key "a" already set in map`,
    );
  });

  it('that is JSON has its unknown fields named in the order of the keys, not of the text', () => {
    const containers = [...'0123456789a'].map((name) => ({ name, image: 'i', x: 1 }));
    const body = {
      spec: { z: 1, containers: [{ name: 'c', nope: 1, env: [{ valu: 1 }] }, ...containers.slice(1)] },
      b: 1,
    };
    const { warnings } = decode(JSON.stringify(body), 'Pod', yaml);
    const others = containers.slice(1).map((_container, index) => `unknown field "spec.containers[${index + 1}].x"`);
    expect(warnings).toEqual([
      'unknown field "b"',
      'unknown field "spec.containers[0].env[0].valu"',
      'unknown field "spec.containers[0].nope"',
      ...others,
      'unknown field "spec.z"',
    ]);
    expect(decode(JSON.stringify(body), 'Pod').warnings[0]).toBe('unknown field "spec.z"');
  });

  it.each([
    ['quotes before the end of a line', `${'"'.repeat(200_000)}\n`],
    ['points', 'a.'.repeat(100_000)],
  ])('that is JSON with fields named by many %s is looked at once', (_what, name) => {
    const body = JSON.stringify({ [name]: 1, b: 1, ...Object.fromEntries([...'cdefg'].map((c) => [name + c, 1])) });
    const { warnings } = decode(body, 'ConfigMap', yaml);
    expect(warnings.at(-1)).toBe('unknown field "b"');
    expect(decode(body, 'ConfigMap', { ...yaml, fieldValidation: 'Ignore' }).warnings).toEqual([]);
  });

  it('does not expand aliases without end', () => {
    const level = (name: string, of: string): string => `${name}: [${Array(9).fill(`*${of}`).join(',')}]\n`;
    const text = `a0: &a0 [x]\n${[1, 2, 3, 4, 5].map((n) => level(`a${n}: &a${n}`.replace(/^a\d: /, `k${n}: `), `a${n - 1}`).replace(/^k(\d): &(a\d): /, 'k$1: &$2 ')).join('')}`;
    expect(decode(text, 'ConfigMap', yaml).error?.message).toContain('yaml: document contains excessive aliasing');
  });
});

describe('a custom resource', () => {
  const text: SchemaNode = { type: 'string' };
  const object = (properties: Record<string, SchemaNode>, more: SchemaNode = {}): SchemaNode => ({
    type: 'object',
    properties: new Map(Object.entries(properties)),
    ...more,
  });
  const schema = object({
    spec: object({
      color: text,
      nested: object({ level: { type: 'integer' } }),
      any: { type: 'object', preserveUnknownFields: true },
      semi: object({ known: object({ a: text }) }, { preserveUnknownFields: true }),
      tmpl: { type: 'object', embeddedResource: true, preserveUnknownFields: true },
    }),
  });
  const gvk = { group: 'example.com', version: 'v1', kind: 'Item' };
  const custom = (body: unknown, more: Partial<DecodeObjectOptions> = {}): Outcome =>
    decode(
      typeof body === 'string' ? body : { apiVersion: 'example.com/v1', kind: 'Item', ...(body as object) },
      'Pod',
      { schema, gvk, ...more },
    );

  it('loses unknown fields with warnings in order of their paths', () => {
    const outcome = custom({ metadata: { name: 'e' }, spec: { zzz: 1, nested: { yyy: 2 } }, other: 3 });
    expect(outcome.warnings).toEqual([
      'unknown field "other"',
      'unknown field "spec.nested.yyy"',
      'unknown field "spec.zzz"',
    ]);
    expect(outcome.object?.spec).toEqual({ nested: {} });
  });

  it('refuses a number that no double can hold, which would be stored as null', () => {
    const body = '{"apiVersion":"example.com/v1","kind":"Item","metadata":{"name":"e"},"spec":{"any":{"x":[1e400]}}}';
    expect(custom(body).error?.message).toBe(
      'Item in version "v1" cannot be handled as a Item: json: cannot unmarshal number 1e400 into Go value of type float64',
    );
  });

  it('keeps what the schema says to preserve', () => {
    const spec = { any: { x: [1, { y: 2 }] }, semi: { free: 1, known: { a: 'x', b: 'pruned' } } };
    const outcome = custom({ metadata: { name: 'e' }, spec });
    expect(outcome.object?.spec).toEqual({ any: { x: [1, { y: 2 }] }, semi: { free: 1, known: { a: 'x' } } });
    expect(outcome.warnings).toEqual(['unknown field "spec.semi.known.b"']);
  });

  it('checks metadata, its own and embedded ones', () => {
    const tmpl = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', foo: 'bar' }, data: { a: 'b' } };
    const outcome = custom({ metadata: { name: 'e', nope: 1 }, spec: { tmpl } });
    expect(outcome.warnings).toEqual(['unknown field "metadata.nope"', 'unknown field "spec.tmpl.metadata.foo"']);
    expect(outcome.object?.spec).toEqual({ tmpl: { ...tmpl, metadata: { name: 'x' } } });
    expect(custom({ metadata: { labels: { a: 1 } } }).error?.message).toBe(
      'Item in version "v1" cannot be handled as a Item: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    );
  });

  it('reports repeated fields, wherever they are', () => {
    const body =
      '{"apiVersion":"example.com/v1","kind":"Item","metadata":{"name":"g"},"spec":{"color":"a","color":"b","any":{"x":[{"y":1,"y":2}]}}}';
    expect(custom(body, { fieldValidation: 'Strict' }).error?.message).toBe(
      'Item in version "v1" cannot be handled as a Item: strict decoding error: duplicate field "spec.color", duplicate field "spec.any.x[0].y"',
    );
  });

  it('must say of which kind it is', () => {
    const body = '{"apiVersion":"example.com/v1","metadata":{"name":"x"}}';
    expect(custom(body).error?.message).toBe(
      `the object provided is unrecognized (must be of type Item): Object 'Kind' is missing in '${body}' ({"apiVersion":"example.com/v1" ...)`,
    );
  });

  it('of another kind is left to validation as it is', () => {
    const other = { apiVersion: 'example.com/v1', kind: 'Other', metadata: { name: 'e' }, items: [1] };
    expect(custom(other, { fieldValidation: 'Strict' }).object).toEqual(other);
  });

  it('of another version is refused before its fields are checked', () => {
    const warnings: string[] = [];
    const body = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"e"},"spec":{"nodeName":"x"}}';
    expect(custom(body, { fieldValidation: 'Warn', warn: (text) => warnings.push(text) }).error?.message).toBe(
      'the API version in the data (v1) does not match the expected API version (example.com/v1)',
    );
    expect(warnings).toEqual([]);
  });

  it('says that null is not an apiVersion', () => {
    expect(custom({ apiVersion: null, kind: 'Item' }).error?.message).toBe(
      'Item in version "" cannot be handled as a Item: .apiVersion accessor error: <nil> is of the type <nil>, expected string',
    );
  });

  it('must be of its version', () => {
    expect(custom({ apiVersion: 'example.com/v2' }).error?.message).toBe(
      'the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)',
    );
  });
});

it('numbers of a custom resource are stored as in Go: as integers of 64 bits or as doubles', () => {
  const gvk = { group: 'demo.dev', version: 'v1', kind: 'Box' };
  const numbers = '[1.0, 1e2, 9007199254740993, 9223372036854775808, 1.0000000000000000000001, 123456789012345678e-2]';
  const body = `{"apiVersion":"demo.dev/v1","kind":"Box","metadata":{"name":"a"},"spec":${numbers}}`;
  const spec = [1, 100, new ExactNumber('9007199254740993'), 9223372036854776000, 1, 1234567890123456.8];
  const schema: SchemaNode = { properties: new Map([['spec', { preserveUnknownFields: true }]]) };
  expect(decode(body, 'ConfigMap', { gvk, schema }).object).toMatchObject({ spec });
});
