import { describe, expect, it, vi } from 'vitest';
import { hasWellFormedParameters } from '../../schema/formats/media-type-syntax.ts';
import { parseAccept } from './media-type.ts';
import { negotiateInput, negotiatePlainOutput, negotiateResourceOutput, negotiateStreamOutput } from './negotiation.ts';

const request = (accept?: string, more: { query?: string; userAgent?: string } = {}) => ({
  accept,
  userAgent: more.userAgent,
  query: new URLSearchParams(more.query ?? ''),
});
const builtin = { produces: 'object', isCustom: false, isRouted: true, hasTable: true } as const;
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const acceptedOnly =
  'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';

describe('the form of an answer', () => {
  it.each([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/yaml', 'yaml'],
    ['application/yaml;q=0.5, application/json', 'json'],
    ['text/html, application/json;q=0.5', 'json'],
    ['application/json;q=0.1,application/yaml;q=0.9', 'yaml'],
  ])('%s is answered in %s', (accept, name) => {
    expect(negotiateResourceOutput(request(accept), builtin).format.name).toBe(name);
  });

  it('is chosen from the first 4,000 types, and the first 64 KiB, of what is accepted', () => {
    const name = (accept: string) => negotiateResourceOutput(request(accept), builtin).format.name;
    expect(name(`${'a/b,'.repeat(3_999)}application/yaml`)).toBe('yaml');
    expect(() => name(`${'a/b,'.repeat(4_000)}application/yaml`)).toThrow('406');
    const long = `application/json;q=0.5;a=${'b'.repeat(65_000)}`;
    expect(name(`${long},application/yaml`)).toBe('yaml');
    expect(name(`${long}${'b'.repeat(1_000)},application/yaml`)).toBe('json');
  });

  it.each([
    [table, { kind: 'Table', version: 'v1' }],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io', { kind: 'Table', version: 'v1beta1' }],
    ['application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', { kind: 'PartialObjectMetadata', version: 'v1' }],
    [`application/json;as=Table;v=v9;g=meta.k8s.io,${table}`, { kind: 'Table', version: 'v1' }],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', undefined],
  ])('%s asks for a shape', (accept, target) => {
    expect(negotiateResourceOutput(request(accept), builtin).target).toEqual(target);
  });

  it.each([
    ['application/json;as=Chart;v=v1;g=meta.k8s.io', acceptedOnly],
    ['application/json;as=Table;v=v1;g=other', acceptedOnly],
    ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io', acceptedOnly],
    [
      'text/html',
      '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    ],
  ])('refuses %s', (accept, message) => {
    expect(() => negotiateResourceOutput(request(accept), builtin)).toThrow(message);
  });

  it('has protobuf for built-in kinds, and for the metadata of all', () => {
    const accept = 'application/vnd.kubernetes.protobuf, application/json';
    const name = (header: string, isCustom: boolean) =>
      negotiateResourceOutput(request(header), { produces: 'object', isCustom, isRouted: !isCustom, hasTable: true })
        .format.name;
    expect(name(accept, false)).toBe('protobuf');
    expect(name(accept, true)).toBe('json');
    const metadata = 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
    expect(name(metadata, true)).toBe('protobuf');
  });

  it('knows the tools that people look at', () => {
    const isPretty = (query: string, userAgent?: string) =>
      negotiateResourceOutput(request('*/*', { query, ...(userAgent ? { userAgent } : {}) }), builtin).isPretty;
    expect(isPretty('', 'curl/8')).toBe(true);
    expect(isPretty('', 'kubectl/v1.32')).toBe(false);
    expect(isPretty('pretty=true')).toBe(true);
    expect(isPretty('pretty=1')).toBe(true);
    expect(isPretty('pretty=false', 'curl/8')).toBe(false);
    expect(isPretty('pretty=nonsense', 'curl/8')).toBe(false);
  });

  it('streams in formats that can be streamed', () => {
    expect(negotiateStreamOutput(request('application/json;stream=watch'), false).format.name).toBe('json');
    expect(() => negotiateStreamOutput(request('application/yaml'), false)).toThrow(
      'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
    );
  });

  it('has no shapes for paths that are not resources', () => {
    expect(negotiatePlainOutput(request(table))).toBeUndefined();
    expect(negotiatePlainOutput(request('application/yaml'))?.format.name).toBe('yaml');
  });
});

describe('the format of a body', () => {
  it.each([
    [undefined, 'json'],
    ['', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['application/yaml', 'yaml'],
  ])('%s is read as %s', (contentType, name) => {
    expect(negotiateInput(contentType).name).toBe(name);
  });

  it('refuses others', () => {
    expect(() => negotiateInput('text/plain')).toThrow(
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    );
  });
});

describe('parameters of Content-Type', () => {
  it.each(['a=b', 'a="b"', ''])('and a million blanks after %j are looked at once', (parameter) => {
    expect(hasWellFormedParameters(`application/json; ${parameter}${' '.repeat(1_000_000)}x`)).toBe(false);
    expect(hasWellFormedParameters(`application/json; ${parameter}${' '.repeat(1_000_000)};`)).toBe(parameter !== '');
  });

  // The answers of mime.ParseMediaType of Go.
  it.each([
    ['', true],
    [';', true],
    [' ; \t', true],
    [';;', false],
    ['; ;', false],
    ['; a=1;', true],
    ['; a=1;;', false],
    ['; a', false],
    ['; a=', false],
    ['; =1', false],
    ['; a b=c', false],
    ['; a=b c', false],
    ['; a = b', true],
    [';a=b;c=d', true],
    ['; a="b"', true],
    ['; a=""', true],
    ['; a="b;c"', true],
    ['; a="b\\"c"', true],
    ['; a="b\\', false],
    ['; a="b\\"', false],
    ['; a="C:\\x"', true],
    ['; a="b" c=d', false],
    ['; a="b"c', false],
    ['; a="b"; c="d;e"', true],
    ['; a="b', false],
    ['; a=b"c"', false],
    ['; a=1; a=2', false],
    ['; a=1; A=2', false],
    ['; a=1; a="1"', true],
    ['; a="\\""; a="\\\\"', false],
    ['; a="x"; a="\\x"', false],
    ['; a="/"; a="\\/"', true],
    ['; a*=1; a*0=2', true],
    ['; a=é', false],
    ['; a="é"', true],
  ])('%j: %s', (parameters, isRead) => {
    const read = () => negotiateInput(`application/json${parameters}`).name;
    if (isRead) expect(read()).toBe('json');
    else expect(read).toThrow('unknown format');
  });
});

describe('an Accept header', () => {
  it('means the same whenever it comes, however many others came meanwhile', () => {
    const headers = Array.from({ length: 250 }, (_, i) => `application/json;q=0.5;n=${i}, application/yaml;n=${i}`);
    const parse = (header: string) =>
      parseAccept(header).media.map(({ subtype, parameters }) => [subtype, ...parameters]);
    for (const _round of [1, 2]) {
      for (const [i, header] of headers.entries()) {
        const [yaml, json] = parse(header);
        expect([yaml, json?.[0]]).toEqual([['yaml', ['n', String(i)]], 'json']);
        expect(parseAccept(header).types).toEqual(['application/json', 'application/yaml']);
      }
    }
    expect(parseAccept(headers[0] ?? '')).toBe(parseAccept(headers[0] ?? ''));
  });

  it('is in the order of quality, then of wildcards, then as it was given', () => {
    const header = 'a/b;q=0.5, */*, a/*, a/c;Q="0.9", a/d;q=x, a/e;q=0.5;q=, */f, a/g;q=2, *;q=0.9, a/h;q=-1';
    const order = parseAccept(header).media.map(({ type, subtype }) => `${type}/${subtype}`);
    expect(order).toEqual(['a/g', 'a/d', 'a/*', '*/f', '*/*', 'a/c', '*/*', 'a/b', 'a/e', 'a/h']);
  });

  it('is read once, however long, and its parameters when they are asked for', () => {
    const header = Array.from({ length: 1_000 }, (_, i) => `a/b;n=${i}`).join(',');
    const split = vi.spyOn(String.prototype, 'split');
    const read = [1, 2].map(() => [parseAccept(header).media.length, parseAccept(header).types.length]);
    const calls = split.mock.calls.length;
    split.mockRestore();
    expect(read).toEqual([
      [1_000, 1_000],
      [1_000, 1_000],
    ]);
    expect(calls).toBe(2);
  });
});
