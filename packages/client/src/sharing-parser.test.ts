import { type KubernetesObject, parseJson, stringifyJson } from '@kapstan/api';
import { getOwn, isJsonObject } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharingParser } from './sharing-parser.ts';

const filler = 'x'.repeat(600);
const spec = { containers: [{ name: 'main', image: `registry/${filler}`, env: [{ name: 'A', value: filler }] }] };

interface Pod extends KubernetesObject {
  spec?: typeof spec;
  status?: Record<string, unknown>;
}

/** Returns a pod of a controller; its pods share the spec. */
function pod(index: number, { owner = 'web', ...rest }: { owner?: string; [member: string]: unknown } = {}): Pod {
  const metadata = { name: `${owner}-${index}`, generateName: `${owner}-`, resourceVersion: String(100 + index) };
  return { kind: 'Pod', apiVersion: 'v1', metadata, spec, ...rest };
}

const read = (parser: SharingParser, object: unknown): Pod => parser.parseObject(stringifyJson(object)) as Pod;
const readEvent = (parser: SharingParser, object: unknown): Pod =>
  (parser.parseEvent(stringifyJson({ type: 'MODIFIED', object })) as { object: Pod }).object;

/** Returns a parser that knows the common parts of the pods of "web": it compares the third pod with the second. */
function trained(): SharingParser {
  const parser = new SharingParser();
  for (let index = 0; index < 3; index++) read(parser, pod(index));
  return parser;
}

describe('objects that are alike', () => {
  it('hold one frozen value of what they have in common, and a metadata each of their own', () => {
    const parser = trained();
    const [one, other] = [read(parser, pod(3)), read(parser, pod(4))];
    expect([one, other]).toEqual([pod(3), pod(4)]);
    expect(one.spec).toBe(other.spec);
    expect(() => one.spec?.containers.pop()).toThrow(TypeError);
    one.metadata = { ...one.metadata, labels: { a: 'b' } };
    expect(other.metadata).toEqual(pod(4).metadata);
  });

  it('share across lists and watches', () => {
    const parser = trained();
    expect(readEvent(parser, pod(3)).spec).toBe(read(parser, pod(4)).spec);
    expect(readEvent(parser, pod(5))).toEqual(pod(5));
    const learnedFromEvents = new SharingParser();
    for (let index = 0; index < 3; index++) readEvent(learnedFromEvents, pod(index));
    expect(read(learnedFromEvents, pod(3)).spec).toBe(readEvent(learnedFromEvents, pod(4)).spec);
  });

  it('share nothing with those of another controller', () => {
    const parser = trained();
    const others = [0, 1, 2, 3].map((index) => read(parser, pod(index, { owner: 'db' })));
    const web = read(parser, pod(3));
    expect(others[3]).toEqual(pod(3, { owner: 'db' }));
    expect(others[3]?.spec).not.toBe(web.spec);
    expect(read(parser, pod(4, { owner: 'db' })).spec).toBe(others[3]?.spec);
  });

  it('without a generated name are one family', () => {
    const parser = new SharingParser();
    const node = (index: number) => ({ kind: 'Node', metadata: { name: `n-${index}` }, spec });
    for (let index = 0; index < 3; index++) read(parser, node(index));
    expect(read(parser, node(3)).spec).toBe(read(parser, node(4)).spec);
  });

  it('keep the order of their members', () => {
    const parser = trained();
    const text = stringifyJson({ spec, ...pod(3), status: { phase: 'Running' } });
    expect(stringifyJson(parser.parseObject(text))).toBe(text);
  });

  it('are parsed correctly although a program changed one of them', () => {
    const parser = new SharingParser();
    for (let index = 0; index < 3; index++) {
      const given = read(parser, pod(index));
      if (given.spec !== undefined) given.spec.containers[0] = { name: 'changed', image: '', env: [] };
    }
    expect(read(parser, pod(3))).toEqual(pod(3));
  });

  it('share the finer part when a larger one begins to change each time', () => {
    const parser = new SharingParser();
    const status = { text: { value: filler + filler } };
    const later = (index: number) => pod(index, { spec: { ...spec, nodeName: `node-${index}` }, status });
    for (let index = 0; index < 4; index++) read(parser, pod(index, { status }));
    for (let index = 4; index < 40; index++) expect(read(parser, later(index))).toEqual(later(index));
    const [one, other] = [read(parser, later(40)), read(parser, later(41))];
    expect(one.spec?.containers).toBe(other.spec?.containers);
    expect(one.status).toBe(other.status);
  });
});

describe('a text that looks like one with a shared part', () => {
  const containers = stringifyJson(spec.containers);

  it.each([
    ['has it in another place', { ...pod(3), spec: { other: 1 }, status: spec }],
    ['has it twice, one deeper', { ...pod(3), status: { inner: { spec } } }],
    ['has it in a string', { ...pod(3), spec: { text: `"spec":${stringifyJson(spec)}` } }],
    ['has more in it', pod(3, { spec: { containers: [...spec.containers, { name: 'sidecar' }] } })],
    ['has another of the same length', pod(3, { spec: { containers: [{ ...spec.containers[0], name: 'niam' }] } })],
    ['has less in it', pod(3, { spec: { containers: [] } })],
    ['has null for it', pod(3, { spec: null })],
    ['has a scalar for it', pod(3, { spec: 'spec' })],
    ['lacks it', { ...pod(3), spec: undefined }],
    ['has it under a name like it', { ...pod(3), spec: undefined, aspec: spec }],
    ['has it in an array', { ...pod(3), spec: [spec] }],
  ])('%s', (_case, object) => {
    const text = stringifyJson(object);
    expect(stringifyJson(trained().parseObject(text))).toBe(text);
    const line = stringifyJson({ type: 'ADDED', object });
    expect(stringifyJson(trained().parseEvent(line))).toBe(line);
  });

  it("has two of them in each other's places", () => {
    const parser = new SharingParser();
    const site = (name: string) => ({ n: { name }, config: { text: `${name}${filler}` } });
    const object = (index: number, sites: Record<string, unknown>) => ({
      metadata: { name: `d-${index}` },
      spec: sites,
    });
    const straight = { primary: { ...site('x'), index: 0 }, standby: { ...site('y'), index: 0 } };
    for (let index = 0; index < 4; index++) {
      const [primary, standby] = [
        { ...straight.primary, index },
        { ...straight.standby, index },
      ];
      read(parser, object(index, { primary, standby }));
    }
    const [primary, standby] = [
      { ...site('y'), index: 9 },
      { ...site('x'), index: 9 },
    ];
    for (const sites of [
      { primary, standby },
      { standby, primary },
    ])
      expect(read(parser, object(9, sites))).toEqual(object(9, sites));
    const crossed = { standby: { config: site('x').config }, primary: { config: site('y').config } };
    expect(read(parser, object(10, crossed))).toEqual(object(10, crossed));
  });

  it('has it one further in a list, from now on: it is shared again', () => {
    const parser = new SharingParser();
    const last = { text: { value: filler + filler } };
    const before = (index: number) => ({ metadata: { name: `n-${index}` }, list: [{ index }, last] });
    const after = (index: number) => ({ metadata: { name: `n-${index}` }, list: [{ index }, { index }, last] });
    for (let index = 0; index < 4; index++) read(parser, before(index));
    const listOf = (index: number): unknown[] => (read(parser, after(index)) as { list?: unknown[] }).list ?? [];
    for (let index = 4; index < 40; index++) expect(listOf(index)).toEqual(after(index).list);
    expect(listOf(40)[2]).toBe(listOf(41)[2]);
  });

  it('names it twice: the last counts, as for JSON.parse', () => {
    const head = stringifyJson(pod(3)).slice(0, -1);
    for (const tail of [
      '"spec":{"a":1}}',
      `"spec":{"containers":${containers}}}`,
      `"metadata":{"spec":${containers}}}`,
    ]) {
      const text = `${head},${tail}`;
      expect(trained().parseObject(text)).toEqual(parseJson(text));
    }
    const whole = `{"type":"ADDED","object":${stringifyJson(pod(3))},"object":{"filler":"${filler}"}}`;
    expect(trained().parseEvent(whole)).toEqual(parseJson(whole));
  });

  it('is an event without an object', () => {
    const line = stringifyJson({ type: 'ADDED', spec, metadata: pod(3).metadata });
    expect(trained().parseEvent(line)).toEqual(parseJson(line));
  });

  it.each([
    ['is cut', (text: string) => text.slice(0, -1)],
    ['goes on', (text: string) => `${text}{`],
    ['lacks a comma', (text: string) => text.replace(',"spec"', '"spec"')],
    ['has a quote too many', (text: string) => text.replace('"spec"', '""spec"')],
  ])('%s: the error is that of JSON.parse', (_case, spoil) => {
    const text = spoil(stringifyJson(pod(3)));
    const messageOf = (parse: () => unknown): string => {
      try {
        parse();
      } catch (error) {
        if (error instanceof SyntaxError) return error.message;
      }
      throw new Error('no SyntaxError');
    };
    expect(messageOf(() => trained().parseObject(text))).toBe(messageOf(() => parseJson(text)));
  });
});

describe('what is shared', () => {
  it('keeps numbers digit for digit', () => {
    const parser = new SharingParser();
    const text = (index: number) =>
      stringifyJson(pod(index)).replace('"spec":{', `"spec":{"id":12345678901234567890,"ratio":1.10,`);
    for (let index = 0; index < 3; index++) parser.parseObject(text(index));
    const [one, other] = [parser.parseObject(text(3)) as Pod, parser.parseObject(text(4)) as Pod];
    expect(one.spec).toBe(other.spec);
    expect(stringifyJson(one)).toBe(stringifyJson(parseJson(text(3))));
  });

  it('may be named __proto__ or lie within what is, and is an own member', () => {
    const parser = new SharingParser();
    const text = (index: number) =>
      stringifyJson(pod(index)).replace(
        '"spec":{',
        `"__proto__":${stringifyJson(spec)},"constructor":{"n":${index},"__proto__":${stringifyJson({ a: spec, n: 1 })}},"spec":{`,
      );
    for (let index = 0; index < 3; index++) parser.parseObject(text(index));
    const object = parser.parseObject(text(3));
    expect(stringifyJson(object)).toBe(text(3));
    if (!isJsonObject(object)) throw new Error('no object');
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
    expect(getOwn(object, '__proto__')).toBe(getOwn(parser.parseObject(text(4)) as object, '__proto__'));
  });

  it('is found however the text is spaced', () => {
    const parser = new SharingParser();
    const text = (index: number) => JSON.stringify(pod(index), undefined, 2);
    for (let index = 0; index < 3; index++) parser.parseObject(text(index));
    expect((parser.parseObject(text(3)) as Pod).spec).toBe((parser.parseObject(text(4)) as Pod).spec);
  });

  it('holds characters of any kind', () => {
    const parser = new SharingParser();
    const unlike = (index: number) => pod(index, { status: { text: `ä€😀\u2028"\\\n\u0000${filler}`, number: index } });
    for (let index = 0; index < 3; index++) read(parser, unlike(index));
    const [one, other] = [read(parser, unlike(3)), read(parser, unlike(4))];
    expect([one, other]).toEqual([unlike(3), unlike(4)]);
    expect(one.spec).toBe(other.spec);
  });
});

describe('limits of sharing', () => {
  it('leave alone what is nested too deep to be frozen', () => {
    const parser = new SharingParser();
    const text = (index: number) => `{"metadata":{"name":"${index}"},"a":${'['.repeat(8000)}${']'.repeat(8000)}}`;
    for (let index = 0; index < 6; index++) expect(() => parser.parseObject(text(index))).not.toThrow();
  });

  it('forget families of large objects sooner', () => {
    const parser = trained();
    const before = read(parser, pod(3));
    const large = (index: number, owner: string) =>
      pod(index, { owner, status: { text: { value: 'y'.repeat(30_000) } } });
    for (let owner = 0; owner < 300; owner++) {
      for (let index = 0; index < 10; index++) read(parser, large(index, `large-${owner}`));
    }
    expect(read(parser, pod(4)).spec).not.toBe(before.spec);
  });

  it('find what comes to be in common later, and keep the values that were', () => {
    const parser = trained();
    const before = read(parser, pod(3));
    const later = (index: number) => pod(index, { status: { text: { value: filler } } });
    for (let index = 4; index < 300; index++) read(parser, later(index));
    const [one, other] = [read(parser, later(300)), read(parser, later(301))];
    expect(one.status).toBe(other.status);
    expect(one.spec).toBe(before.spec);
  });

  it.each([
    ['short ones', { a: { b: 'c'.repeat(600) } }],
    ['long ones', { a: { b: 'c'.repeat(33_000) } }],
  ])('leave %s alone', (_case, status) => {
    const parser = new SharingParser();
    const object = (index: number): Pod => ({ metadata: { name: String(index) }, status });
    for (let index = 0; index < 3; index++) read(parser, object(index));
    expect(read(parser, object(3)).status).not.toBe(read(parser, object(4)).status);
  });

  it('forget families of which none came while ten thousand others did', () => {
    const parser = trained();
    const before = read(parser, pod(3));
    for (let index = 0; index < 4500; index++) read(parser, pod(0, { owner: `a-${index}` }));
    expect(read(parser, pod(4)).spec).toBe(before.spec);
    for (let index = 0; index < 10_000; index++) read(parser, pod(0, { owner: `b-${index}` }));
    expect(read(parser, pod(5)).spec).not.toBe(before.spec);
  });

  it('keep a family whose objects go on coming, however many others there are', () => {
    const parser = trained();
    const before = read(parser, pod(3));
    for (let index = 0; index < 30_000; index++) {
      read(parser, pod(0, { owner: `a-${index}` }));
      if (index % 4000 === 0) read(parser, pod(4));
    }
    expect(read(parser, pod(5)).spec).toBe(before.spec);
  });

  it('stop comparing objects that are never alike, and try again now and then', () => {
    const parser = new SharingParser();
    const unlike = (index: number) => ({
      metadata: { name: `n-${index}` },
      status: { [`k${index}`]: `${index}${filler}${filler}` },
    });
    for (let index = 0; index < 45; index++) read(parser, unlike(index));
    const isShared = (index: number): boolean => read(parser, pod(index)).spec === read(parser, pod(index + 1)).spec;
    expect(isShared(0) || isShared(2) || isShared(4)).toBe(false);
    for (let index = 6; index < 200; index++) read(parser, pod(index));
    expect(isShared(200)).toBe(true);
  });
});

describe('a sharing parser beside JSON.parse', () => {
  const scalar = fc.oneof(fc.string(), fc.integer(), fc.constant('x'.repeat(60)), fc.constant(null), fc.boolean());
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('any'), { maxLength: 4 }),
      fc.dictionary(
        fc.oneof(fc.constantFrom('a', 'spec', 'object', 'containers', '__proto__'), fc.string()),
        tie('any'),
        {
          maxKeys: 5,
        },
      ),
    ),
  })).any;
  const member = fc.tuple(fc.constantFrom('spec', 'status', 'data', 'extra'), value);

  it('gives the same, or the same error, for texts that change by a few characters', () => {
    const base = stringifyJson(pod(0, { status: { a: spec, b: { c: spec.containers, d: 1 } } }));
    const edit = fc.tuple(
      fc.nat(base.length),
      fc.nat(30),
      fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', '1', 'a', '\\', '"a":', stringifyJson(spec)),
    );
    const outcome = (parse: (text: string) => unknown, text: string): string => {
      try {
        return stringifyJson(parse(text));
      } catch (error) {
        return String(error);
      }
    };
    fc.assert(
      fc.property(fc.array(fc.option(edit), { maxLength: 12 }), (edits) => {
        const parser = new SharingParser();
        for (const one of [null, null, null, ...edits]) {
          const [at, length, text] = one ?? [0, 0, ''];
          const edited = base.slice(0, at) + text + base.slice(at + length);
          expect(outcome(parser.parseObject, edited)).toBe(outcome(parseJson, edited));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same for objects that change a little from one to the next', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(member, fc.boolean(), fc.constantFrom('a-', 'b-')), { maxLength: 30 }),
        (changes) => {
          const parser = new SharingParser();
          const members = new Map<string, unknown>([['spec', spec]]);
          for (const [[[name, content], isEvent, owner], index] of changes.map((change, at) => [change, at] as const)) {
            if (index % 3 === 2) members.set(name, content);
            const object = pod(index, { owner, ...Object.fromEntries(members) });
            const text = stringifyJson(isEvent ? { type: 'MODIFIED', object } : object);
            const parsed = isEvent ? parser.parseEvent(text) : parser.parseObject(text);
            expect(stringifyJson(parsed)).toBe(stringifyJson(parseJson(text)));
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
