import { describe, expect, it } from 'vitest';
import { WatchersByPrefix } from './watchers-by-prefix.ts';

const prefixes = [
  '',
  '/',
  '/registry/',
  '/registry/pods/',
  '/registry/pods/a/',
  '/registry/pods/a/x',
  '/registry/po',
  'b/',
];
const keys = ['/registry/pods/a/x', '/registry/pods/b/y', '/registry/nodes/n', '/registry/pod', 'b/', 'c', ''];
const watchers = prefixes.map((prefix) => ({ prefix }));

function filled(): WatchersByPrefix<{ readonly prefix: string }> {
  const all = new WatchersByPrefix<{ readonly prefix: string }>();
  for (const watcher of watchers) all.add(watcher);
  return all;
}

const found = (all: ReturnType<typeof filled>, key: string): readonly string[] =>
  all
    .candidates(key)
    .flatMap((those) => [...those])
    .map(({ prefix }) => prefix);

describe('WatchersByPrefix', () => {
  it.each(keys)('finds each watcher of "%s" once', (key) => {
    const concerned = found(filled(), key).filter((prefix) => key.startsWith(prefix));
    expect(concerned.toSorted()).toEqual(prefixes.filter((prefix) => key.startsWith(prefix)).toSorted());
  });

  it('looks at no watchers of other resources', () => {
    const all = filled();
    for (let i = 0; i < 1_000; i++) all.add({ prefix: `/registry/r${i}/` });
    expect(found(all, '/registry/pods/a/x')).toHaveLength(7);
    expect(all.size).toBe(prefixes.length + 1_000);
  });

  it('forgets a watcher that is deleted, and only that one', () => {
    const all = filled();
    const second = { prefix: '/registry/pods/' };
    all.add(second);
    for (const watcher of watchers) expect(all.delete(watcher)).toBe(true);
    expect(all.delete({ prefix: '/registry/' })).toBe(false);
    expect([...all]).toEqual([second]);
    expect(found(all, '/registry/pods/a/x')).toEqual(['/registry/pods/']);
    all.delete(second);
    expect([all.size, found(all, '/registry/pods/a/x')]).toEqual([0, []]);
  });
});
