import { runWhole } from '@kapstan/api/internal';
import { expect, it } from 'vitest';
import { applyOperations, JsonPatchFault, type JsonPatchOperation } from './json-patch.ts';

function fault(operation: JsonPatchOperation): string {
  try {
    runWhole(applyOperations({ a: { b: 1 }, list: ['x'] }, [operation]));
    return 'applied';
  } catch (error) {
    if (!(error instanceof JsonPatchFault)) throw error;
    return error.message;
  }
}

it.each<[JsonPatchOperation, string]>([
  [
    { op: 'add', path: '/none/b', value: 1 },
    'add operation does not apply: doc is missing path: "/none/b": missing value',
  ],
  [{ op: 'add', value: 1 }, 'add operation failed to decode path: missing value'],
  [
    { op: 'add', path: '/list/x', value: 1 },
    `error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
  ],
  [
    { op: 'add', path: '/list/7', value: 1 },
    "error in add for path: '/list/7': Unable to access invalid index: 7: invalid index referenced",
  ],
  [{ op: 'remove', path: '/none/b' }, 'remove operation does not apply: doc is missing path: "/none/b": missing value'],
  [
    { op: 'remove', path: '/a/c' },
    "error in remove for path: '/a/c': Unable to remove nonexistent key: c: missing value",
  ],
  [
    { op: 'replace', path: '/none/b', value: 1 },
    'replace operation does not apply: doc is missing path: /none/b: missing value',
  ],
  [
    { op: 'replace', path: '/list/3', value: 1 },
    'replace operation does not apply: doc is missing key: /list/3: missing value',
  ],
  [{ op: 'replace', value: 1 }, 'replace operation failed to decode path: operation missing path field: missing value'],
  [{ op: 'test', path: '/a/b', value: 2 }, 'testing value /a/b failed: test failed'],
  [{ op: 'test', path: '/none/b', value: 2 }, 'test operation does not apply: is missing path: /none/b: missing value'],
  [
    { op: 'move', from: '/none/b', path: '/c' },
    'move operation does not apply: doc is missing from path: /none/b: missing value',
  ],
  [
    { op: 'move', from: '/a/b', path: '/none/c' },
    'move operation does not apply: doc is missing destination path: /none/c: missing value',
  ],
  [
    { op: 'move', from: '/a/x', path: '/c' },
    "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
  ],
  [{ op: 'move', path: '/c' }, 'move operation failed to decode from: operation, missing from field: missing value'],
  [
    { op: 'copy', from: '/none/b', path: '/c' },
    'copy operation does not apply: doc is missing from path: /none/b: missing value',
  ],
  [{ op: 'merge', path: '/a' }, 'Unexpected kind: merge'],
  [{ path: '/a' }, 'Unexpected kind: unknown'],
])('says in the words of Go’s library why it does not apply: %j', (operation, text) => {
  expect(fault(operation)).toBe(text);
});
