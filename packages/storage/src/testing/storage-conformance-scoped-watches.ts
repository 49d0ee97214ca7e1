// Part of storage-conformance.ts: which events a watch of one scope and selector receives, as in
// RunTestClusterScopedWatch, RunTestNamespaceScopedWatch and RunWatchListMatchSingle of the Go library.
import { expect, it } from 'vitest';
import { expectNoStreamedList } from './storage-conformance-watches.ts';
import { keyOf, podOf, root, type StorageBench, type WatchCall } from './storage-fixture.ts';

interface ScopeCase {
  readonly scope: string;
  readonly fields?: string;
  /** True when the scope is the key of one object. */
  readonly isKey?: boolean;
  readonly heard: readonly string[];
}

/** Cases for objects without a namespace: t1 on n1, t2 on n2. */
const clusterScopes: readonly ScopeCase[] = [
  { scope: '', heard: ['t1', 't2'] },
  { scope: '', fields: 'metadata.name=t1', heard: ['t1'] },
  { scope: '', fields: 'spec.nodeName=n2', heard: ['t2'] },
  { scope: '', fields: 'spec.nodeName=n3', heard: [] },
  { scope: 't1', isKey: true, heard: ['t1'] },
  { scope: 't1', isKey: true, fields: 'spec.nodeName=n1', heard: ['t1'] },
  { scope: 't1', isKey: true, fields: 'spec.nodeName=n2', heard: [] },
];

const namespaceScopes: readonly ScopeCase[] = [
  { scope: '', heard: ['ns1/a', 'ns1/b', 'ns2/a', 'ns2/c'] },
  { scope: '', fields: 'metadata.namespace=ns1', heard: ['ns1/a', 'ns1/b'] },
  { scope: '', fields: 'metadata.namespace=none', heard: [] },
  { scope: '', fields: 'metadata.name=a', heard: ['ns1/a', 'ns2/a'] },
  { scope: '', fields: 'metadata.name=c,metadata.namespace=ns1', heard: [] },
  { scope: '', fields: 'metadata.name=c,metadata.namespace=ns2', heard: ['ns2/c'] },
  { scope: '', fields: 'spec.nodeName=n1', heard: ['ns1/a', 'ns2/a'] },
  { scope: '', fields: 'spec.nodeName=n1,metadata.namespace=ns2', heard: ['ns2/a'] },
  { scope: 'ns1', heard: ['ns1/a', 'ns1/b'] },
  { scope: 'ns1', fields: 'metadata.namespace=ns1', heard: ['ns1/a', 'ns1/b'] },
  { scope: 'ns1', fields: 'metadata.namespace=ns2', heard: [] },
  { scope: 'ns1', fields: 'metadata.name=b', heard: ['ns1/b'] },
  { scope: 'ns1', fields: 'metadata.name=c', heard: [] },
  { scope: 'ns1', fields: 'spec.nodeName=n2', heard: ['ns1/b'] },
  { scope: 'ns1', fields: 'spec.nodeName=n2,metadata.name=a', heard: [] },
  { scope: 'ns1/a', isKey: true, heard: ['ns1/a'] },
  { scope: 'ns1/a', isKey: true, fields: 'metadata.name=a,spec.nodeName=n1', heard: ['ns1/a'] },
  { scope: 'ns1/a', isKey: true, fields: 'spec.nodeName=n2', heard: [] },
];

export function scopedWatchConformance(bench: StorageBench): void {
  it('hears within a scope of a kind without namespaces what the fields select', async () => {
    await hears(bench, clusterScopes, async () => {
      await bench.storage.create(`${root}/t1`, podOf('t1', { node: 'n1' }));
      await bench.storage.create(`${root}/t2`, podOf('t2', { node: 'n2' }));
    });
  });

  it('hears within a scope of a namespaced kind what the fields select', async () => {
    await hears(bench, namespaceScopes, async () => {
      await bench.create('ns1/a', { node: 'n1' });
      await bench.create('ns1/b', { node: 'n2' });
      await bench.create('ns2/a', { node: 'n1' });
      await bench.create('ns2/c', { node: 'n2' });
    });
  });

  it.each([
    ['by its name', root, { fields: 'metadata.name=a' }],
    ['by its key', keyOf('a'), { recursive: false }],
  ] as const)('streams one object %s, ends the initial events, and goes on with it alone', async (_how, key, call) => {
    const a = await bench.create('a');
    const b = await bench.create('b');
    await bench.caughtUp();
    const watch = bench.watch({ sendInitialEvents: true, bookmarks: true, ...call }, key);
    if (bench.isCacheWithoutProgress) return expectNoStreamedList(watch);
    expect(await watch.received(2)).toEqual([`ADDED a@${a.revision}`, `END@${b.revision}`]);
    await bench.update('b', { node: 'n1' });
    const later = await bench.update('a', { node: 'n1' });
    expect((await watch.received(3)).slice(2)).toEqual([`MODIFIED a@${later.revision}`]);
  });
}

/** Starts one watch per case from now on, runs `write`, then writes a last object that every selector matches. */
async function hears(bench: StorageBench, cases: readonly ScopeCase[], write: () => Promise<void>): Promise<void> {
  const start = String(await bench.caughtUp());
  const watches = cases.map(({ scope, fields = '', isKey = false }) => {
    const call: WatchCall = { fields, recursive: !isKey, resourceVersion: start };
    return bench.watch(call, scope === '' ? root : `${root}/${scope}`);
  });
  const everybody = bench.watch({ resourceVersion: start });
  await write();
  await bench.create('zoo/last');
  await everybody.until(() => everybody.changes.some((change) => change.startsWith('ADDED last')));
  for (const [index, { scope, fields, heard }] of cases.entries()) {
    const watch = watches[index];
    const expected = scope === '' && fields === undefined ? [...heard, 'zoo/last'] : heard;
    await watch?.received(expected.length);
    const keys = watch?.events.map((event) =>
      event.type === 'BOOKMARK' ? '' : event.stored.key.slice(root.length + 1),
    );
    expect(keys, `${scope} ${fields}`).toEqual(expected);
  }
}
