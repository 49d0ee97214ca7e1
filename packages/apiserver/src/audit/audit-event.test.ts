import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { formatGoDuration } from '../schema/go/go-duration.ts';
import {
  type AuditEvent,
  formatJsonEvent,
  formatLegacyEvent,
  recordInSlices,
  recordJsonInSlices,
} from './audit-event.ts';
import { auditEvent } from './testing/audit-events.ts';

const least = auditEvent('id-1', {
  requestUri: '/version',
  receivedMs: 1_700_000_000_123,
  stageMs: 1_700_000_000_500,
});
const most: AuditEvent = {
  ...least,
  level: 'RequestResponse',
  stage: 'ResponseComplete',
  user: { name: 'ann', uid: 'u1', groups: ['g1', 'g2'], extra: { scopes: ['x'] } },
  impersonatedUser: { name: 'bob', groups: ['g3'] },
  impersonationConstraint: 'user-info',
  sourceIps: ['10.0.0.1', '127.0.0.1'],
  userAgent: 'kubectl "1"',
  objectRef: { resource: 'pods', namespace: 'default', name: 'a', uid: '', apiGroup: '', apiVersion: 'v1' },
  responseStatus: { code: 201 },
  requestObject: '{"a":1}',
  responseObject: '{"b":2}',
  annotations: new Map([
    ['z', '1'],
    ['a', '2'],
  ]),
};

describe('an audit event as JSON', () => {
  it('is one line, without what is not there', () => {
    expect(formatJsonEvent(least)).toBe(
      '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id-1","stage":"RequestReceived","requestURI":"/version","verb":"get","user":{},"requestReceivedTimestamp":"2023-11-14T22:13:20.123000Z","stageTimestamp":"2023-11-14T22:13:20.500000Z"}\n',
    );
  });

  it('has its members in the order of kube-apiserver, and annotations by name', () => {
    const line = formatJsonEvent(most);
    expect(Object.keys(JSON.parse(line))).toEqual([
      ...['kind', 'apiVersion', 'level', 'auditID', 'stage', 'requestURI', 'verb', 'user', 'impersonatedUser'],
      ...['authenticationMetadata', 'sourceIPs', 'userAgent', 'objectRef', 'responseStatus', 'requestObject'],
      ...['responseObject', 'requestReceivedTimestamp', 'stageTimestamp', 'annotations'],
    ]);
    expect(line).toContain('"user":{"username":"ann","uid":"u1","groups":["g1","g2"],"extra":{"scopes":["x"]}}');
    expect(line).toContain('"impersonatedUser":{"username":"bob","groups":["g3"]}');
    expect(line).toContain('"authenticationMetadata":{"impersonationConstraint":"user-info"}');
    expect(line).toContain('"objectRef":{"resource":"pods","namespace":"default","name":"a","apiVersion":"v1"}');
    expect(line).toContain(
      '"responseStatus":{"metadata":{},"code":201},"requestObject":{"a":1},"responseObject":{"b":2}',
    );
    expect(line).toContain('"annotations":{"a":"2","z":"1"}');
  });
});

describe('an audit event as text', () => {
  it.each([
    [
      least,
      '2023-11-14T22:13:20.123Z AUDIT: id="id-1" stage="RequestReceived" ip="<unknown>" method="get" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/version" response="<deferred>"\n',
    ],
    [
      most,
      '2023-11-14T22:13:20.123Z AUDIT: id="id-1" stage="ResponseComplete" ip="10.0.0.1" method="get" user="ann" groups="\\"g1\\",\\"g2\\"" as="bob" asgroups="\\"g3\\"" user-agent="kubectl \\"1\\"" namespace="default" uri="/version" response="201"\n',
    ],
    [{ ...least, receivedMs: 1_700_000_000_000 }, /^2023-11-14T22:13:20Z AUDIT/],
  ])('is one line', (event, expected) => {
    if (typeof expected === 'string') expect(formatLegacyEvent(event)).toBe(expected);
    else expect(formatLegacyEvent(event)).toMatch(expected);
  });
});

describe('a recorded object', () => {
  const managedFields = [{ manager: 'm' }];
  const object = { metadata: { name: 'a', managedFields }, data: { k: 'v' } };
  const bare = { metadata: { name: 'a' }, data: { k: 'v' } };

  it.each([
    ['an object', object, bare],
    [
      'the items of a list',
      { metadata: { resourceVersion: '1' }, items: [object] },
      { metadata: { resourceVersion: '1' }, items: [bare] },
    ],
    [
      'the rows of a Table',
      { rows: [{ cells: ['a'], object }, { object: null }] },
      { rows: [{ cells: ['a'], object: bare }, { object: null }] },
    ],
    ['a value that is none', [1], [1]],
  ])('loses its managed fields when that is asked: %s', (_, value, expected) => {
    expect(JSON.parse(runWhole(recordInSlices(value, 'omitted')))).toEqual(expected);
    expect(JSON.parse(runWhole(recordInSlices(value, 'kept')))).toEqual(value);
  });

  it('stays on one line, digit for digit, with every name', () => {
    const pretty = '{\n  "__proto__": 1,\n  "n": 12345678901234567890\n}\n';
    expect(runWhole(recordJsonInSlices(Buffer.from(pretty), 'kept'))).toBe('{"__proto__":1,"n":12345678901234567890}');
    expect(runWhole(recordJsonInSlices(Buffer.from('{"a":1}\n'), 'kept'))).toBe('{"a":1}');
    expect(runWhole(recordJsonInSlices(Buffer.from('{"metadata":{"managedFields":[]}}'), 'omitted'))).toBe(
      '{"metadata":{}}',
    );
  });
});

it.each([
  [0, '0s'],
  [0.00025, '250ns'],
  [0.0015, '1.5µs'],
  [501.25, '501.25ms'],
  [1500, '1.5s'],
  [60_000, '1m0s'],
  [3_723_004, '1h2m3.004s'],
])('a duration of %d ms is "%s"', (ms, text) => {
  expect(formatGoDuration(ms)).toBe(text);
});
