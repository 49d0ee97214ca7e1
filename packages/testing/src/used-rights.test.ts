import { expect, it } from 'vitest';
import type { ResourceAccess } from './access-record.ts';
import { missingLines, UsedRights } from './used-rights.ts';

const kinds = new Map([['secrets.', 'Secret']]);

/** The lines after these refusals: verb, name and namespace. */
function linesAfter(refusals: readonly (readonly [verb: string, name: string, namespace: string])[], subresource = '') {
  const used = new UsedRights([]);
  const common = { group: '', version: 'v1', resource: 'secrets', subresource };
  for (const [verb, name, namespace] of refusals)
    used.refuse({ ...common, verb, name, namespace } as unknown as ResourceAccess);
  return missingLines(used.missing, kinds);
}

it('the line for few objects has their names and their namespace', () => {
  expect(
    linesAfter([
      ['get', 'b', 'x'],
      ['get', 'a', 'x'],
      ['delete', 'a', 'x'],
      ['delete', 'b', 'x'],
      ['get', "it's", ''],
    ]),
  ).toEqual([
    ".needs(Secret, ['get', 'delete'], { names: ['a', 'b'], namespace: 'x' }) // refused in the namespace x; leave out names that vary",
    ".needs(Secret, ['get'], { names: ['it\\'s'] }) // refused at the cluster scope; leave out names that vary",
  ]);
  expect(linesAfter([['patch', 'a', 'x']], 'status')).toEqual([
    ".needs(Secret, ['patch'], { subresource: 'status', names: ['a'], namespace: 'x' }) // refused in the namespace x; leave out names that vary",
  ]);
});

it('the line for many objects, and for verbs without a name, has neither', () => {
  const many = [...'abcdefgh'].map((name) => ['get', name, 'x'] as const);
  expect(linesAfter(many)).toEqual([".needs(Secret, ['get']) // refused in the namespace x"]);
  const places = [...'abcd'].map((namespace) => ['get', 'a', namespace] as const);
  expect(linesAfter(places)).toEqual([
    ".needs(Secret, ['get']) // refused in the namespace a, in the namespace b, in the namespace c, in the namespace d",
  ]);
  expect(
    linesAfter([
      ['create', 'a', 'x'],
      ['list', '', 'x'],
      ['watch', '', 'y'],
      ['get', 'a', 'x'],
    ]),
  ).toEqual([
    ".needs(Secret, ['create', 'list', 'watch']) // refused in the namespace x, in the namespace y",
    ".needs(Secret, ['get'], { names: ['a'], namespace: 'x' }) // refused in the namespace x; leave out names that vary",
  ]);
});

it('the line for a patch names the declaration that an apply needs', () => {
  expect(linesAfter([['patch', 'a', 'x']])).toEqual([
    ".needs(Secret, ['patch'], { names: ['a'], namespace: 'x' }) // refused in the namespace x; .owns(Secret) if it comes from ctx.apply; leave out names that vary",
  ]);
});
