import { runWhole } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FieldSet, unionOf } from './field-set.ts';
import { readFieldsV1, writeFieldsV1 } from './fields-v1.ts';
import {
  type FieldPath,
  fieldElement,
  formatPath,
  keyElement,
  parsePathElement,
  valueElement,
} from './path-element.ts';

const elements = fc.oneof(
  fc.constantFrom('a', 'b', '__proto__', 'constructor', '.').map(fieldElement),
  fc.tuple(fc.constantFrom('x', 'é"', 1), fc.constantFrom('TCP', 80)).map(([name, port]) =>
    keyElement(
      new Map<string, unknown>([
        ['name', name],
        ['port', port],
      ]),
    ),
  ),
  fc.constantFrom('v', 7, true, '').map(valueElement),
);
const paths = fc.array(elements, { minLength: 1, maxLength: 4 });
const sets = fc.array(paths, { maxLength: 8 }).map((all) => FieldSet.of(...all));
const read = (fields: unknown) => runWhole(readFieldsV1(fields));
const textsOf = (set: FieldSet): Set<string> => new Set(runWhole(set.paths()).map((path) => path.join('\n')));
const startsWith = (path: FieldPath, prefix: FieldPath): boolean => prefix.every((element, i) => path[i] === element);

it('lists what ends at a step before what goes on below it, each in order', () => {
  const set = FieldSet.of(['f:b', 'f:x'], ['f:c'], ['f:a', 'f:x'], ['f:a']);
  expect(runWhole(set.paths())).toEqual([['f:a'], ['f:c'], ['f:a', 'f:x'], ['f:b', 'f:x']]);
});

describe('a set of fields', () => {
  it('survives FieldsV1, in one canonical text', () => {
    fc.assert(
      fc.property(fc.array(paths, { maxLength: 8 }), (all) => {
        const set = FieldSet.of(...all);
        const text = JSON.stringify(runWhole(writeFieldsV1(set)));
        expect(read(JSON.parse(text)).equals(set)).toBe(true);
        expect(JSON.stringify(runWhole(writeFieldsV1(FieldSet.of(...all.reverse()))))).toBe(text);
        for (const path of all) expect(set.has(path)).toBe(true);
      }),
    );
  });

  it('behaves as a set of paths', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const [left, right] = [textsOf(a), textsOf(b)];
        expect(textsOf(runWhole(a.union(b)))).toEqual(new Set([...left, ...right]));
        expect(textsOf(runWhole(a.intersection(b)))).toEqual(new Set([...left].filter((path) => right.has(path))));
        expect(textsOf(runWhole(a.difference(b)))).toEqual(new Set([...left].filter((path) => !right.has(path))));
        const below = runWhole(a.paths()).filter(
          (path) => !runWhole(b.paths()).some((prefix) => startsWith(path, prefix)),
        );
        expect(textsOf(runWhole(a.recursiveDifference(b)))).toEqual(textsOf(FieldSet.of(...below)));
        expect(textsOf(runWhole(unionOf([a, b, a])))).toEqual(new Set([...left, ...right]));
        expect([runWhole(a.size()), a.isEmpty]).toEqual([left.size, left.size === 0]);
        expect(runWhole(a.paths(2))).toEqual(runWhole(a.paths()).slice(0, 2));
        expect([textsOf(a), textsOf(b)]).toEqual([left, right]);
        expect(a.isEmpty).toBe(left.size === 0);
      }),
    );
  });

  it('has a "." only for what is owned beside its parts', () => {
    const set = FieldSet.of(['f:data'], ['f:data', 'f:a'], ['f:metadata', 'f:labels', 'f:l'], ['f:kind']);
    expect(JSON.stringify(runWhole(writeFieldsV1(set)))).toBe(
      '{"f:data":{".":{},"f:a":{}},"f:kind":{},"f:metadata":{"f:labels":{"f:l":{}}}}',
    );
  });

  it('reads the spellings of clients as the canonical ones', () => {
    const set = read({
      'f:ports': { 'k:{ "protocol":"TCP", "containerPort" : 80 }': { '.': {}, 'f:name': {} } },
      'f:set': { 'v: "a"': {} },
    });
    expect(set.has(['f:ports', 'k:{"containerPort":80,"protocol":"TCP"}'])).toBe(true);
    expect(set.has(['f:set', 'v:"a"'])).toBe(true);
  });

  it.each<readonly [fields: unknown, why: string]>([
    [[], 'fieldsV1 must be an object'],
    [{ 'f:a': 1 }, 'fieldsV1 must be an object'],
    [{ a: {} }, 'unknown path element a'],
    [{ 'k:[]': {} }, 'invalid key path element k:[]'],
    [{ 'k:{': {} }, 'invalid path element k:{'],
    [{ 'i:x': {} }, 'invalid index path element i:x'],
  ])('refuses %j', (fields, why) => {
    expect(() => read(fields)).toThrow(why);
  });

  it('refuses nesting without end', () => {
    let fields: object = {};
    for (let i = 0; i < 1100; i++) fields = { 'f:a': fields };
    expect(() => read(fields)).toThrow('nested too deep');
  });
});

it.each<readonly [path: FieldPath, text: string]>([
  [['f:spec', 'f:containers', 'k:{"name":"a"}', 'f:image'], '.spec.containers[name="a"].image'],
  [['f:ports', 'k:{"containerPort":80,"protocol":"TCP"}'], '.ports[containerPort=80,protocol="TCP"]'],
  [['f:finalizers', 'v:"example.com/a"'], '.finalizers[="example.com/a"]'],
  [['f:args', 'i:0'], '.args[0]'],
  [['f:owners', 'k:{"uid":{"a":1,"b":"é\\u0001"}}'], '.owners[uid=a=1b="é\\x01"]'],
  [['f:owners', 'k:{"uid":[null,true,1.5]}'], '.owners[uid=[null,true,1.5]]'],
])('a path shows as in messages: %j', (path, text) => {
  expect(formatPath(path)).toBe(text);
  expect(path.map(parsePathElement)).toEqual(path);
});

describe('the union with what a set has already', () => {
  const set = FieldSet.of(['f:a'], ['f:b', 'f:c'], ['f:b', 'k:{"n":1}', 'f:d']);

  it('is the set itself', () => {
    expect(runWhole(set.union(FieldSet.of(['f:b', 'k:{"n":1}', 'f:d'], ['f:a'])))).toBe(set);
    expect(runWhole(set.union(new FieldSet()))).toBe(set);
  });

  it.each([[['f:b']], [['f:c']], [['f:a', 'f:c']], [['f:b', 'k:{"n":1}', 'f:e']]])('is another with %j', (path) => {
    const union = runWhole(set.union(FieldSet.of(path)));
    expect([union.has(path), set.has(path)]).toEqual([true, false]);
  });
});
