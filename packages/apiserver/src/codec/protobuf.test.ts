import { ExactNumber, parseJson } from '@kapstan/api';
import { protobufFacts } from '@kapstan/kinds/facts';
import { describe, expect, it } from 'vitest';
import { factTypes } from '../testing/fact-types.ts';
import { decodeInto } from './protobuf-decoder.ts';
import { encodeMessage } from './protobuf-encoder.ts';
import { readEnvelope, watchFrame, wrapMessage } from './protobuf-envelope.ts';
import { ProtobufWriter } from './protobuf-wire.ts';
import { WireCursor } from './wire-cursor.ts';
import { encodeYaml } from './yaml-encoder.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const decoded = (name: string, bytes: Uint8Array): Record<string, unknown> => {
  const object = {};
  decodeInto(object, factTypes.message(name), bytes);
  return object;
};
const roundTrip = (name: string, value: unknown): unknown =>
  decoded(name, encodeMessage(factTypes.message(name), value));

describe('protobuf on the wire', () => {
  it.each<[number | bigint, string]>([
    [0, '0800'],
    [300, '08ac02'],
    [-1, '08ffffffffffffffffff01'],
    [9_007_199_254_740_993n, '0881808080808080' + '10'],
  ])('writes %s', (value, expected) => {
    const writer = new ProtobufWriter();
    writer.tag(1, 0);
    writer.varint(value);
    expect(hex(writer.finish())).toBe(expected);
    const cursor = new WireCursor(writer.finish());
    expect(cursor.varint()).toBe(8);
    expect(cursor.int64()).toBe(value);
  });

  it('refuses what is cut short', () => {
    const skipAll = (hexadecimal: string): void => {
      const cursor = new WireCursor(Buffer.from(hexadecimal, 'hex'));
      while (cursor.at < cursor.bytes.length) cursor.skip(cursor.varint() % 8);
    };
    expect(() => skipAll('0a05aa')).toThrow('unexpected EOF');
    expect(() => skipAll('0901')).toThrow('unexpected EOF');
    expect(() => skipAll('08ff')).toThrow('unexpected EOF');
    expect(() => skipAll('08ffffffffffffffffffff01')).toThrow('integer overflow');
    expect(() => skipAll('0b')).toThrow('illegal wireType 3');
    expect(() => skipAll('0801' + '090102030405060708' + '0a0161' + '0d01020304')).not.toThrow();
  });
});

/** An unset ObjectMeta as field 1. */
const emptyMeta = '0a100a001200' + '1a0022002a003200380042' + '00';

describe('messages', () => {
  it('are written as gogo/protobuf writes them', () => {
    // ConfigMap{metadata{name: "a"}, data{b: "c"}}: empty scalars and the unset time are encoded, pointers are not.
    const bytes = encodeMessage(factTypes.message('core.v1.ConfigMap'), { metadata: { name: 'a' }, data: { b: 'c' } });
    expect(hex(bytes)).toBe('0a110a0161120' + '01a0022002a003200380042001206' + '0a016212' + '0163');
  });

  it.each<[string, unknown]>([
    [
      'core.v1.ConfigMap',
      {
        metadata: { name: 'a', labels: { constructor: 'x', a: '1' } },
        data: { __proto__x: 'y' },
        immutable: false,
      },
    ],
    ['core.v1.Secret', { metadata: {}, data: { k: 'AAEC/w==' }, type: 'Opaque' }],
    ['core.v1.Probe', { httpGet: { path: '/', port: 'http' }, periodSeconds: 5, terminationGracePeriodSeconds: 0 }],
    ['core.v1.Volume', { name: 'v', emptyDir: { sizeLimit: '1Gi' } }],
    ['core.v1.ServicePort', { port: 80, targetPort: 8080 }],
    [
      'meta/v1.ObjectMeta',
      {
        name: 'a',
        generation: new ExactNumber('9007199254740993'),
        creationTimestamp: '2026-01-02T03:04:05Z',
        finalizers: ['a', 'b'],
      },
    ],
    ['meta/v1.ManagedFieldsEntry', { manager: 'm', time: '2026-01-02T03:04:05Z', fieldsV1: { 'f:data': { '.': {} } } }],
    [
      'coordination.v1.LeaseSpec',
      { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: '2026-01-02T03:04:05.000678Z' },
    ],
    [
      'crd/apiextensions.v1.JSONSchemaProps',
      {
        type: 'array',
        items: { type: 'string' },
        maximum: 1.5,
        default: [1],
        enum: ['a', null],
        additionalProperties: false,
      },
    ],
    ['authentication.v1.UserInfo', { username: 'a', extra: { scopes: ['x', 'y'] } }],
  ])('%s survives', (name, value) => {
    const decoded = roundTrip(name, value) as Record<string, unknown>;
    expect(decoded).toMatchObject(value as Record<string, unknown>);
  });

  it('have in their JSON what Go prints of fields that nothing set', () => {
    const empty = (name: string): unknown => decoded(name, new Uint8Array());
    expect(empty('rbac.v1.Role')).toEqual({ metadata: {}, rules: null });
    expect(empty('apps.v1.DeploymentSpec')).toEqual({
      selector: null,
      template: { metadata: {}, spec: { containers: null } },
      strategy: {},
    });
    expect(empty('core.v1.Volume')).toEqual({ name: '' });
    expect(empty('core.v1.Event')).toMatchObject({ firstTimestamp: null, eventTime: null, source: {} });
    expect(empty('core.v1.ServicePort')).toEqual({ port: 0, targetPort: 0 });
    expect(empty('core.v1.ResourceFieldSelector')).toEqual({ resource: '', divisor: '0' });
  });

  it.each<[string, string, unknown, string]>([
    ['a text that nothing set', 'core.v1.LocalObjectReference', undefined, '0a00'],
    [
      'maps in the order of bytes, not of UTF-16',
      'meta/v1.LabelSelector',
      { matchLabels: { '\u{1F600}': '', '\uFFFD': '', b: '', a: '' } },
      '0a050a016112000a050a016212000a070a03efbfbd12000a080a04f09f98801200',
    ],
    ['bytes that are null without them', 'core.v1.ConfigMap', { binaryData: { k: null } }, `${emptyMeta}1a030a016b`],
    ['empty bytes', 'core.v1.ConfigMap', { binaryData: { k: '' } }, `${emptyMeta}1a050a016b1200`],
    ['false behind a pointer', 'core.v1.ConfigMap', { immutable: false }, `${emptyMeta}2000`],
    [
      'raw JSON as Go escapes it',
      'machinery/runtime.RawExtension',
      ['<&>'],
      '0a165b225c75303033635c75303032365c7530303365225d',
    ],
    ['no unknown members', 'core.v1.LocalObjectReference', { name: 'a', other: 1, constructor: 2 }, '0a0161'],
    ['long and foreign texts', 'core.v1.LocalObjectReference', { name: 'ü'.repeat(30) }, `0a3c${'c3bc'.repeat(30)}`],
  ])('write %s', (_what, name, value, expected) => {
    expect(hex(encodeMessage(factTypes.message(name), value))).toBe(expected);
  });

  it('are no worse for one that failed before', () => {
    const message = factTypes.message('core.v1.ConfigMap');
    const before = hex(encodeMessage(message, { data: { a: 'b' } }));
    expect(() => encodeMessage(message, { metadata: { generation: 'x' }, data: { a: 'b' } })).toThrow('not an integer');
    expect(hex(encodeMessage(message, { data: { a: 'b' } }))).toBe(before);
  });

  it('hold more than the buffer was made for', () => {
    const value = { data: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, 'x'.repeat(9_000)])) };
    const decoded = roundTrip('core.v1.ConfigMap', value) as typeof value;
    expect(decoded.data).toEqual(value.data);
  });

  it('are refused where the wire has another type, or no UTF-8, or ends early', () => {
    const decode = (bytes: string): unknown => decoded('core.v1.LocalObjectReference', Buffer.from(bytes, 'hex'));
    expect(() => decode('0801')).toThrow('proto: wrong wireType = 0 for field name');
    expect(() => decode('0a01ff')).toThrow(TypeError);
    expect(() => decode('0a0561')).toThrow('unexpected EOF');
    expect(() => decode('08ffffffffffffffffffff01')).toThrow();
    expect(decode('0a03efbfbd')).toEqual({ name: '\uFFFD' });
    expect(decode('0a01611001')).toEqual({ name: 'a' });
  });

  it('read lists of numbers that another encoder has packed', () => {
    expect(decoded('core.v1.PodSecurityContext', Buffer.from('220301e807', 'hex'))).toEqual({
      supplementalGroups: [1, 1000],
    });
  });

  it('have no field under a name that every object has', () => {
    for (const message of Object.keys(protobufFacts().messages)) {
      for (const { name } of factTypes.message(message).fields) expect(name in {}, `${message}.${name}`).toBe(false);
    }
  });

  it.each(['9007199254740993', '-261921018615206700', '-9223372036854775808', '261921018615206700', '-5', '1e3'])(
    'hold the integer %s digit for digit, in the form that JSON has it in',
    (digits) => {
      const sent = parseJson(`{"generation":${digits}}`);
      expect(roundTrip('meta/v1.ObjectMeta', sent)).toEqual(sent);
    },
  );

  it('keep own keys', () => {
    const value = JSON.parse('{"metadata":{},"data":{"__proto__":"p"}}');
    expect(Object.keys((roundTrip('core.v1.ConfigMap', value) as { data: object }).data)).toEqual(['__proto__']);
  });

  it('can all be written empty and read again', () => {
    for (const name of Object.keys(protobufFacts().messages)) {
      if (name === 'machinery/runtime.Unknown' || name === 'meta/v1.Duration') continue;
      expect(() => roundTrip(name, undefined), name).not.toThrow();
    }
  });
});

describe('the envelope', () => {
  const configMap = { group: '', version: 'v1', kind: 'ConfigMap' };

  it('names the kind', () => {
    const message = factTypes.messageOfKind(configMap);
    if (message === undefined) throw new Error('no message');
    const bytes = wrapMessage(configMap, encodeMessage(message, { metadata: { name: 'a' }, data: { b: 'c' } }));
    expect(hex(bytes).startsWith('6b3873000a0f0a0276311209436f6e6669674d6170121')).toBe(true);
    expect(readEnvelope(bytes, { types: factTypes, expected: configMap })).toMatchObject({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      data: { b: 'c' },
    });
    const frame = Buffer.from(watchFrame('ADDED', bytes));
    expect(frame.readUInt32BE()).toBe(frame.length - 4);
    expect(frame.subarray(4, 11).toString('latin1')).toBe('\n\u0005ADDED');
  });

  it('is asked for', () => {
    expect(() => readEnvelope(Buffer.from('nothing'), { types: factTypes, expected: configMap })).toThrow(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
    expect(() => readEnvelope(new Uint8Array(), { types: factTypes, expected: configMap })).toThrow('empty data');
  });

  it('has no message for custom resources', () => {
    expect(factTypes.messageOfKind({ group: 'example.com', version: 'v1', kind: 'Foo' })).toBeUndefined();
  });
});

describe('YAML', () => {
  it('quotes what readers of YAML 1.1 would take for something else', () => {
    expect(
      encodeYaml({
        b: 'yes',
        a: '1',
        n: 1,
        l: ['x'],
        e: [],
        o: {},
        t: 'one\ntwo\n',
        big: new ExactNumber('12345678901234567890'),
      }),
    ).toBe('a: "1"\nb: "yes"\nbig: 12345678901234567890\ne: []\nl:\n- x\n"n": 1\no: {}\nt: |\n  one\n  two\n');
  });
});
