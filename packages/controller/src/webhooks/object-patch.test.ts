import { ExactNumber } from '@kapstan/api';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { objectPatch, type PatchOperation } from './object-patch.ts';

const o = (text: string): unknown => JSON.parse(text);

it.each([
  ['{"a":1}', '{"a":1}', []],
  [
    '{"a":1}',
    '{"a":2,"b":null}',
    [
      { op: 'replace', path: '/a', value: 2 },
      { op: 'add', path: '/b', value: null },
    ],
  ],
  ['{"a/b":{"c~d":1}}', '{"a/b":{}}', [{ op: 'remove', path: '/a~1b/c~0d' }]],
  [
    '{"l":[1,2,3,4,5]}',
    '{"l":[1,5]}',
    [
      { op: 'remove', path: '/l/3' },
      { op: 'remove', path: '/l/2' },
      { op: 'remove', path: '/l/1' },
    ],
  ],
  [
    '{"l":[1,4]}',
    '{"l":[1,2,3,4]}',
    [
      { op: 'add', path: '/l/1', value: 2 },
      { op: 'add', path: '/l/2', value: 3 },
    ],
  ],
  ['{"l":[{"a":1,"b":1},2]}', '{"l":[{"a":1,"b":2},2]}', [{ op: 'replace', path: '/l/0/b', value: 2 }]],
  ['{"a":[]}', '{"a":{}}', [{ op: 'replace', path: '/a', value: {} }]],
  [
    '{"__proto__":1}',
    '{"__proto__":2,"constructor":3}',
    [
      { op: 'replace', path: '/__proto__', value: 2 },
      { op: 'add', path: '/constructor', value: 3 },
    ],
  ],
])('from %s to %s', (before, after, operations) => {
  expect(objectPatch(o(before), o(after))).toEqual(operations);
});

it('keeps long numbers, and takes undefined for absent', () => {
  const long = new ExactNumber('12345678901234567890');
  expect(objectPatch({ a: long, b: 1 }, { a: new ExactNumber('12345678901234567890'), b: undefined })).toEqual([
    { op: 'remove', path: '/b' },
  ]);
  expect(objectPatch({ a: long }, { a: new ExactNumber('12345678901234567891') })).toHaveLength(1);
});

/** The simplest implementation of RFC 6902 for these operations. */
function applied(value: unknown, operations: readonly PatchOperation[]): unknown {
  const root = { value: structuredClone(value) };
  for (const operation of operations) {
    const path = ['value', ...operation.path.split('/').slice(1)].map((part) =>
      part.replaceAll('~1', '/').replaceAll('~0', '~'),
    );
    const last = path.pop() as string;
    const parent = path.reduce<Record<string, unknown>>((at, part) => at[part] as Record<string, unknown>, root);
    if (Array.isArray(parent)) {
      if (Number(last) > parent.length || (operation.op !== 'add' && Number(last) >= parent.length))
        throw new Error(last);
      parent.splice(
        Number(last),
        operation.op === 'add' ? 0 : 1,
        ...(operation.op === 'remove' ? [] : [operation.value]),
      );
    } else if (operation.op === 'remove') {
      if (!Object.hasOwn(parent, last)) throw new Error(`no ${last}`);
      delete parent[last];
    } else parent[last] = operation.value;
  }
  return root.value;
}

it('leads from any value to any other', () => {
  const names = fc.constantFrom('a', 'b', 'c/d', 'e~f', '');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, fc.constantFrom(null, 0, 1, 'x', true), tie('list'), tie('map')),
    list: fc.array(tie('value'), { maxLength: 5 }),
    map: fc.dictionary(names, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  }));
  fc.assert(
    fc.property(value, value, (before, after) => {
      expect(applied(before, objectPatch(before, after))).toEqual(after);
      expect(objectPatch(after, structuredClone(after))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
