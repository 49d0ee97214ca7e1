import { isStatusError } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import { expect, it } from 'vitest';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { changedObject, type PatchedKind } from './changed-object.ts';

const kind = { group: '', version: 'v1', kind: 'PodExecOptions' };
const connect = { methods: ['POST'], queryOptions: { command: 'strings', stdin: 'boolean' }, takesPath: false };
const part = { type: 'object', name: 'exec', kind, verbs: ['create'], connect };
const definition = { subresources: [part], schema: {} } as unknown as ResourceDefinition;
const of: PatchedKind = { kind, definition, subresource: 'exec' };
const change = (value: object): unknown => {
  try {
    return runWhole(changedObject(value, of));
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return `${error.code} ${error.message}`;
  }
};
const options = { apiVersion: 'v1', kind: 'PodExecOptions', command: ['a'] };

it('options of a connection keep their kind and the types of its query', () => {
  expect(change({ ...options, stdin: true, more: 1 })).toEqual({ ...options, stdin: true });
  expect(change({ ...options, kind: 'Foo' })).toBe(
    '500 Internal error occurred: no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
  );
  expect(change({ ...options, command: 'a' })).toContain('cannot unmarshal string into Go struct field');
  expect(change({ ...options, stdin: 'yes' })).toContain('cannot unmarshal string into Go struct field');
});
