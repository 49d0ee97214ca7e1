import { type DeepReadonly, everyLabel, objectKey, parseLabelSelector } from '@kapstan/api';
import { deepFreeze, noLabel } from '@kapstan/api/internal';
import { pod, type TestPod, testPods } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { DeletedFinalStateUnknown } from '../fifo/deleted-final-state-unknown.ts';
import { Indexer, metaNamespaceIndex, namespaceIndex } from './indexer.ts';
import { Lister } from './lister.ts';

type Pod = DeepReadonly<TestPod>;
const make = (
  name: string,
  options: { node?: string; version?: string; namespace?: string; labels?: Record<string, string> } = {},
): Pod =>
  deepFreeze(
    pod(
      {
        name,
        namespace: options.namespace ?? 'default',
        resourceVersion: options.version ?? '1',
        labels: options.labels ?? {},
      },
      options.node === undefined ? {} : { spec: { nodeName: options.node } },
    ),
  );
const names = (objects: readonly Pod[]): (string | undefined)[] =>
  objects.map((object) => object.metadata?.name).sort();
const byNode = { node: (object: Pod) => [object.spec?.nodeName] };
const key = (name: string) => objectKey('default', name);

describe('Indexer', () => {
  it('stores by key; adding and updating are the same, deleting the unknown is no error', () => {
    const indexer = new Indexer<TestPod>();
    indexer.add(make('a'));
    indexer.update(make('b'));
    indexer.add(make('a', { version: '2' }));
    indexer.delete(make('c'));
    expect(indexer.size).toBe(2);
    expect(indexer.getByKey(key('a'))?.metadata?.resourceVersion).toBe('2');
    expect(indexer.get(make('b'))?.metadata?.name).toBe('b');
    expect(indexer.listKeys()).toEqual(['default/a', 'default/b']);
    indexer.delete(new DeletedFinalStateUnknown<TestPod>(key('a'), undefined));
    expect(names(indexer.list())).toEqual(['b']);
  });

  it('moves an object from index value to index value and forgets values that nobody has', () => {
    const indexer = new Indexer<TestPod>(byNode);
    indexer.add(make('a', { node: 'n1' }));
    indexer.add(make('b', { node: 'n1' }));
    indexer.add(make('c'));
    expect(names(indexer.byIndex('node', 'n1'))).toEqual(['a', 'b']);
    indexer.update(make('a', { node: 'n2' }));
    expect(indexer.indexKeys('node', 'n1')).toEqual(['default/b']);
    expect(indexer.indexValues('node')).toEqual(['n1', 'n2']);
    indexer.delete(make('b'));
    expect(indexer.indexValues('node')).toEqual(['n2']);
    expect(indexer.byIndex('node', 'n1')).toEqual([]);
    indexer.update(make('a'));
    expect(indexer.indexValues('node')).toEqual([]);
  });

  it('indexes under several values and finds what shares one', () => {
    const indexer = new Indexer<TestPod>({ words: (object) => object.metadata?.name?.split('-') ?? [] });
    for (const name of ['red-apple', 'green-apple', 'green-pear', 'plum']) indexer.add(make(name));
    expect(names(indexer.index('words', make('red-pear')))).toEqual(['green-pear', 'red-apple']);
    expect(names(indexer.index('words', make('green-apple')))).toEqual(['green-apple', 'green-pear', 'red-apple']);
    expect(indexer.indexKeys('words', 'green')).toEqual(['default/green-apple', 'default/green-pear']);
  });

  it('follows an object that moves between several values at once, and out of all', () => {
    const indexer = new Indexer<TestPod>({ words: (object) => object.spec?.nodeName?.split(',') ?? [] });
    const values = (): Record<string, string[]> =>
      Object.fromEntries(
        indexer
          .indexValues('words')
          .sort()
          .map((value) => [value, indexer.indexKeys('words', value)]),
      );
    indexer.add(make('a', { node: 'x,y' }));
    indexer.add(make('b', { node: 'y,z' }));
    expect(values()).toEqual({ x: ['default/a'], y: ['default/a', 'default/b'], z: ['default/b'] });
    indexer.update(make('a', { node: 'y,w' }));
    expect(values()).toEqual({ w: ['default/a'], y: ['default/a', 'default/b'], z: ['default/b'] });
    indexer.update(make('b', { node: 'w' }));
    expect(values()).toEqual({ w: ['default/a', 'default/b'], y: ['default/a'] });
    indexer.update(make('b'));
    indexer.delete(make('a'));
    expect(values()).toEqual({});
  });

  it('takes index values that are names of the prototype', () => {
    const indexer = new Indexer<TestPod>(byNode);
    indexer.add(make('a', { node: '__proto__' }));
    indexer.add(make('constructor', { node: 'constructor' }));
    expect(names(indexer.byIndex('node', '__proto__'))).toEqual(['a']);
    expect(indexer.byIndex('node', 'toString')).toEqual([]);
  });

  it('replaces its contents and rebuilds its indexes', () => {
    const indexer = new Indexer<TestPod>(byNode);
    indexer.add(make('a', { node: 'n1' }));
    indexer.replace([make('b', { node: 'n2' })], '40');
    expect(names(indexer.list())).toEqual(['b']);
    expect(indexer.indexValues('node')).toEqual(['n2']);
    expect(indexer.resourceVersion).toBe('40');
  });

  it('keeps a list that it returned as it was', async () => {
    const indexer = new Indexer<TestPod>();
    indexer.add(make('a'));
    const before = indexer.list();
    expect(indexer.list()).toBe(before);
    await Promise.resolve();
    indexer.add(make('b'));
    expect(names(before)).toEqual(['a']);
    expect(names(indexer.list())).toEqual(['a', 'b']);
  });

  it('follows the version of writes, replaces and bookmarks', () => {
    const indexer = new Indexer<TestPod>();
    const seen = [indexer.resourceVersion];
    const note = (act: () => void): void => {
      act();
      seen.push(indexer.resourceVersion);
    };
    note(() => indexer.add(make('a', { version: '3' })));
    note(() => indexer.update(make('a', { version: '4' })));
    note(() => indexer.delete(make('a', { version: '5' })));
    note(() => indexer.delete(new DeletedFinalStateUnknown<TestPod>(key('x'), make('x', { version: '1' }))));
    note(() => indexer.replace([], '9'));
    note(() => indexer.bookmark('12'));
    note(() => indexer.bookmark(''));
    expect(seen).toEqual(['', '3', '4', '5', '5', '9', '12', '12']);
  });

  it('adds indexers to what is stored, all or none', () => {
    const indexer = new Indexer<TestPod>(byNode);
    indexer.add(make('a', { node: 'n1', namespace: 'x' }));
    indexer.addIndexers({ [namespaceIndex]: metaNamespaceIndex });
    expect(names(indexer.byIndex(namespaceIndex, 'x'))).toEqual(['a']);
    expect(() => indexer.addIndexers({ fresh: () => [], node: () => [], namespace: () => [] })).toThrow(
      'indexer conflict: {namespace, node}',
    );
    expect(indexer.hasIndex('fresh')).toBe(false);
    expect(Object.keys(indexer.getIndexers())).toEqual(['node', 'namespace']);
  });

  it('names unknown indexes', () => {
    const indexer = new Indexer<TestPod>();
    const text = 'Index with name nope does not exist';
    expect(() => indexer.byIndex('nope', 'x')).toThrow(text);
    expect(() => indexer.indexKeys('nope', 'x')).toThrow(text);
    expect(() => indexer.index('nope', make('a'))).toThrow(text);
    expect(indexer.indexValues('nope')).toEqual([]);
  });

  it('changes nothing when an index function throws', () => {
    const indexer = new Indexer<TestPod>({
      ...byNode,
      picky: (object) => {
        if (object.spec?.nodeName === 'bad') throw new Error('no');
        return ['ok'];
      },
    });
    indexer.add(make('a', { node: 'n1' }));
    expect(() => indexer.update(make('a', { node: 'bad' }))).toThrow(
      'unable to calculate an index entry for key "default/a" on index "picky": no',
    );
    expect(indexer.getByKey(key('a'))?.spec?.nodeName).toBe('n1');
    expect(indexer.indexValues('node')).toEqual(['n1']);
  });

  it('stores what an index function throws for, where somebody wants to be told, and tells once', () => {
    const told: string[] = [];
    const picky = (object: Pod): string[] => {
      if (object.spec?.nodeName === undefined) throw new Error('no');
      return [object.spec.nodeName];
    };
    const indexer = new Indexer<TestPod>({ picky }, { onIndexError: ({ message }) => void told.push(message) });
    indexer.replace([make('a'), make('b', { node: 'n1' })], '5');
    expect([indexer.size, indexer.indexKeys('picky', 'n1')]).toEqual([2, ['default/b']]);
    indexer.update(make('a', { node: 'n1' }));
    expect(indexer.indexKeys('picky', 'n1')).toEqual(['default/a', 'default/b']);
    expect(told).toEqual(['unable to calculate an index entry for key "default/a" on index "picky": no']);
    expect(() => indexer.index('picky', make('c'))).toThrow('unable to calculate');
  });

  it('leaves no entry of an object behind whose former values its function cannot tell any more', () => {
    let broken = false;
    const told: string[] = [];
    const byNode = ({ spec }: DeepReadonly<TestPod>): string[] => {
      if (broken && spec?.nodeName === 'old') throw new Error('no more');
      return [spec?.nodeName ?? ''];
    };
    const indexer = new Indexer<TestPod>({ node: byNode }, { onIndexError: ({ message }) => void told.push(message) });
    for (const name of ['a', 'b']) indexer.add(make(name, { node: 'old' }));
    broken = true;
    indexer.add(make('a', { node: 'new' }));
    indexer.delete(make('b'));
    expect(indexer.indexValues('node')).toEqual(['new']);
    expect(indexer.byIndex('node', 'new').map(({ metadata }) => metadata?.name)).toEqual(['a']);
    expect(told).toEqual([]);
  });

  it('indexes at its next write what its function threw for, under the value that it would have had', () => {
    let isBroken = true;
    const byNode = ({ spec }: Pod): string[] => {
      if (isBroken) throw new Error('not yet');
      return [spec?.nodeName ?? ''];
    };
    const indexer = new Indexer<TestPod>({ node: byNode }, { onIndexError: () => undefined });
    indexer.add(make('a', { node: 'n' }));
    isBroken = false;
    indexer.add(make('a', { node: 'n' }));
    expect(indexer.indexKeys('node', 'n')).toEqual(['default/a']);
    indexer.delete(make('a'));
    expect(indexer.indexValues('node')).toEqual([]);
  });

  it('keeps all indexes as they are when a replace fails', () => {
    const indexer = new Indexer<TestPod>({
      ...byNode,
      picky: (object) => {
        if (object.spec?.nodeName === 'bad') throw new Error('no');
        return ['ok'];
      },
    });
    indexer.add(make('a', { node: 'n1' }));
    expect(() => indexer.replace([make('b', { node: 'bad' })], '9')).toThrow('unable to calculate');
    expect([indexer.listKeys(), indexer.indexValues('node')]).toEqual([['default/a'], ['n1']]);
  });

  it('refuses objects without metadata', () => {
    expect(() => new Indexer<TestPod>().add({} as Pod)).toThrow('object has no meta');
    expect(() => metaNamespaceIndex({})).toThrow('object has no meta');
  });
});

describe('Lister', () => {
  const indexer = new Indexer<TestPod>({ [namespaceIndex]: metaNamespaceIndex });
  indexer.add(make('a', { namespace: 'x', labels: { app: 'web' } }));
  indexer.add(make('b', { namespace: 'x' }));
  indexer.add(make('c', { namespace: 'y', labels: { app: 'web' } }));
  const lister = new Lister(indexer, testPods);
  const plain = new Indexer<TestPod>();
  for (const object of indexer.list()) plain.add(object);

  it('lists by namespace and selector, with and without the index', () => {
    for (const each of [lister, new Lister(plain, testPods)]) {
      expect(names(each.list())).toEqual(['a', 'b', 'c']);
      expect(names(each.list(parseLabelSelector('app=web')))).toEqual(['a', 'c']);
      expect(names(each.namespace('x').list())).toEqual(['a', 'b']);
      expect(names(each.namespace('x').list(parseLabelSelector('!app')))).toEqual(['b']);
      expect(names(each.namespace('').list())).toEqual(['a', 'b', 'c']);
      expect(names(each.namespace('z').list())).toEqual([]);
    }
  });

  it('lists all for the selector that wants everything, and nothing for the one that wants nothing', () => {
    for (const each of [lister, new Lister(plain, testPods)]) {
      expect(names(each.list(everyLabel))).toEqual(['a', 'b', 'c']);
      expect(names(each.list(noLabel))).toEqual([]);
      expect(names(each.namespace('x').list(everyLabel))).toEqual(['a', 'b']);
      expect(names(each.namespace('x').list(noLabel))).toEqual([]);
    }
  });

  it('takes a selector as text, as a client does', () => {
    for (const each of [lister, new Lister(plain, testPods)]) {
      expect(names(each.list('app in (web)'))).toEqual(['a', 'c']);
      expect(names(each.list(''))).toEqual(['a', 'b', 'c']);
      expect(names(each.namespace('x').list('app=web'))).toEqual(['a']);
      expect(names(each.namespace('x').list('app!=web'))).toEqual(['b']);
    }
  });

  it.each<[string, unknown, string]>([
    [
      'options',
      { labelSelector: 'app=web' },
      'a label selector, such as "app=web", needs the function matches, it is an object',
    ],
    ['a selector of an API object', { matchLabels: {} }, 'it is an object'],
    ['null', null, 'it is null'],
    ['a predicate', () => true, 'it is a function'],
    ['a text that is none', 'app=(', "found '(', expected: identifier"],
  ])('refuses %s at once, whatever is cached', (_name, selector, message) => {
    for (const each of [lister, new Lister(new Indexer<TestPod>(), testPods)])
      for (const list of [() => each.list(selector as string), () => each.namespace('x').list(selector as string)]) {
        expect(list).toThrow(TypeError);
        expect(list).toThrow(message);
      }
  });

  it('finds cluster-scoped objects by their name alone', () => {
    const nodes = new Indexer<TestPod>({ [namespaceIndex]: metaNamespaceIndex });
    nodes.add(make('n1', { namespace: '' }));
    const cluster = new Lister(nodes, { group: 'example.com', plural: 'nodes' });
    expect(cluster.get('n1').metadata?.name).toBe('n1');
    expect(() => cluster.get('n2')).toThrow('nodes.example.com "n2" not found');
  });

  it('finds by name, or says 404 as the API does', () => {
    expect(lister.namespace('x').get('a').metadata?.name).toBe('a');
    expect(lister.namespace('x').find('c')).toBeUndefined();
    expect(lister.find('a')).toBeUndefined();
    expect(() => lister.namespace('x').get('c')).toThrow(
      expect.objectContaining({ code: 404, message: 'pods "c" not found' }),
    );
    expect(() => lister.get('a')).toThrow('pods "a" not found');
  });
});
