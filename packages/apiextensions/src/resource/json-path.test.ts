import { ExactNumber } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { compileJsonPath } from './json-path.ts';

const object = {
  spec: { replicas: 3, 'a.b': 'dotted', list: [1, 2, 3, 4], names: { x: 'X', y: 'Y' }, none: null },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', weight: 2 },
      { type: 'Synced', status: 'False', weight: 5, reason: 'Late' },
    ],
  },
  big: new ExactNumber('12345678901234567890'),
};
const find = (path: string): readonly unknown[] => compileJsonPath(path)(object);

describe('a path', () => {
  it.each<[string, readonly unknown[]]>([
    ['.spec.replicas', [3]],
    ['$.spec.replicas', [3]],
    ['.', [object]],
    ['.spec.missing.deeper', []],
    ['.spec.replicas.deeper', []],
    ['.spec.none', [null]],
    ["['spec']['a.b']", ['dotted']],
    ['.spec.a\\.b', ['dotted']],
    ['["spec"]["replicas"]', [3]],
    ['.spec.list[0]', [1]],
    ['.spec.list[-1]', [4]],
    ['.spec.list[1:3]', [2, 3]],
    ['.spec.list[-2:]', [3, 4]],
    ['.spec.list[:]', [1, 2, 3, 4]],
    ['.spec.list[0:4:2]', [1, 3]],
    ['.spec.list[*]', [1, 2, 3, 4]],
    ['.spec.list[0,2]', [1, 3]],
    ["['spec','big']", [object.spec, object.big]],
    ['.spec.names.*', ['X', 'Y']],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type=='Synced')].status", ['False']],
    ['.status.conditions[?( @.weight > 2 )].type', ['Synced']],
    ['.status.conditions[?(@.weight<=2)].type', ['Ready']],
    ['.status.conditions[?(@.weight>=2)].type', ['Ready', 'Synced']],
    ['.status.conditions[?(@.type!="Ready")].type', ['Synced']],
    ['.status.conditions[?(@.reason)].type', ['Synced']],
    ['.status.conditions[?(@.reason=="Late")].type', ['Synced']],
    ['.status.conditions[?(@.type=="a]b")].type', []],
    ['..weight', [2, 5]],
    ['.nothing[?(@.x==1)]', []],
  ])('%s leads to its values', (path, values) => {
    expect(find(path)).toEqual(values);
  });

  it.each(['spec', '.spec[', '.spec.list[a]', '.spec.list[1:2:3:4]', '.a[?(x==1)]', '.a....b', '.a b'])(
    'is not %s',
    (path) => {
      expect(() => compileJsonPath(path)(object)).toThrow(SyntaxError);
    },
  );

  it.each([
    '.spec.list[9]',
    '.spec[0]',
    '.spec.list[::0]',
    '.status.conditions[?(@.type>1)]',
    '.status.conditions[?(@==1)]',
    '.status.conditions[?(@.*=="Ready")]',
  ])('%s asks for what cannot be', (path) => {
    expect(() => find(path)).toThrow(TypeError);
  });

  it('sees own members only', () => {
    expect(find('.constructor')).toEqual([]);
    expect(find('.__proto__')).toEqual([]);
  });
});
