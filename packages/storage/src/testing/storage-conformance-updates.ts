// Part of storage-conformance.ts: the compare-and-set loop of updates.
import { isConflict } from '@kapstan/api';
import { conflict } from '@kapstan/api/errors';
import { expect, it } from 'vitest';
import { isStorageError } from '../errors/storage-error.ts';
import { keyOf, podOf, type StorageBench } from './storage-fixture.ts';

export function updateConformance(bench: StorageBench): void {
  updateBasics(bench);
  noOpUpdates(bench);
  conflictingUpdates(bench);
}

function updateBasics(bench: StorageBench): void {
  it('refuses an absent key, or creates the object where that is allowed', async () => {
    const refused = bench.storage.guaranteedUpdate(keyOf('a'), () => ({ object: podOf('a') }));
    await expect(refused).rejects.toSatisfy((error) => isStorageError(error, 'KeyNotFound'));
    const created = await bench.storage.guaranteedUpdate(
      keyOf('a'),
      (existing, meta) => {
        expect(existing).toBeUndefined();
        expect(meta).toEqual({ ttlSeconds: 0, revision: 0 });
        return { object: podOf('a', { node: 'n1' }) };
      },
      { ignoreNotFound: true },
    );
    expect(created.object.spec?.nodeName).toBe('n1');
    expect(await bench.names()).toEqual(['a']);
  });

  it('gives the callback a copy that it may change', async () => {
    const created = await bench.create('a');
    await bench.caughtUp();
    const updated = await bench.storage.guaranteedUpdate(keyOf('a'), (existing, meta) => {
      expect(meta.revision).toBe(created.revision);
      expect(existing?.metadata?.resourceVersion).toBe(String(created.revision));
      if (existing?.metadata !== undefined) existing.metadata.labels = { changed: 'yes' };
      return { object: existing ?? podOf('a') };
    });
    expect(updated.revision).toBeGreaterThan(created.revision);
    expect(updated.object.metadata?.labels).toEqual({ changed: 'yes' });
    expect(created.object.metadata?.labels).toBeUndefined();
  });

  it('holds preconditions against the stored object', async () => {
    await bench.create('a');
    const update = (uid: string) =>
      bench.storage.guaranteedUpdate(keyOf('a'), () => ({ object: podOf('a', { node: uid }) }), {
        preconditions: { uid },
      });
    await expect(update('other')).rejects.toSatisfy((error) => isStorageError(error, 'InvalidObject'));
    expect((await update('uid-default-a')).object.spec?.nodeName).toBe('uid-default-a');
  });

  it('gives an object an expiry, and takes it away with the next update that has none', async () => {
    await bench.createAll('a', 'b');
    for (const name of ['a', 'b']) {
      await bench.storage.guaranteedUpdate(keyOf(name), () => ({ object: podOf(name, { node: 'n1' }), ttlSeconds: 1 }));
    }
    await bench.update('b', { node: 'n2' });
    const watch = bench.watch({ resourceVersion: String(await bench.caughtUp()) });
    await bench.fixture.clock.advance(200_000);
    expect((await watch.received(1))[0]).toMatch(/^DELETED a@/);
    expect(await bench.names()).toEqual(['b']);
  });
}

function noOpUpdates(bench: StorageBench): void {
  const same = (name: string) =>
    bench.storage.guaranteedUpdate(keyOf(name), (existing) => ({ object: existing ?? podOf(name) }));

  it('writes nothing when nothing changes, also with another selfLink or order of fields', async () => {
    const created = await bench.create('a');
    expect((await same('a')).revision).toBe(created.revision);
    const reordered = await bench.storage.guaranteedUpdate(keyOf('a'), (existing) => {
      const { metadata, ...rest } = existing ?? podOf('a');
      return { object: { ...rest, metadata: { ...metadata, selfLink: '/self' } } };
    });
    expect(reordered.revision).toBe(created.revision);
    expect(await bench.engine.currentRevision()).toBe(created.revision);
  });

  it('writes an unchanged object anew when its stored form is out of date', async () => {
    const created = await bench.create('a');
    const staleRevision = await bench.overwrite('a', (await bench.rawText('a')).replace('enc:1:', 'enc:0:'));
    const rewritten = await same('a');
    expect(rewritten.revision).toBeGreaterThan(staleRevision);
    expect(await bench.rawText('a')).toMatch(/^enc:1:/);
    expect(rewritten.object.metadata?.uid).toBe(created.object.metadata?.uid);
  });

  it('decides on the stored bytes whether something changes', async () => {
    await bench.create('a');
    const spaced = await bench.overwrite('a', (await bench.rawText('a')).replace('enc:1:', 'enc:1: '));
    expect((await same('a')).revision).toBeGreaterThan(spaced);
  });
}

function conflictingUpdates(bench: StorageBench): void {
  it('runs the callback again with what another writer wrote meanwhile', async () => {
    await bench.create('a', { labels: { count: '0' } });
    const seen: string[] = [];
    await bench.storage.guaranteedUpdate(keyOf('a'), async (existing) => {
      const count = existing?.metadata?.labels?.count ?? '';
      seen.push(count);
      if (seen.length === 1) await bench.update('a', { labels: { count: '1' } });
      return { object: podOf('a', { labels: { count: `${count}+` } }) };
    });
    expect(seen).toEqual(['0', '1']);
    expect((await bench.storage.get(keyOf('a')))?.object.metadata?.labels).toEqual({ count: '1+' });
  });

  it('lets a hundred writers each count one', async () => {
    await bench.create('a', { labels: { count: '0' } });
    const increment = () =>
      bench.storage.guaranteedUpdate(keyOf('a'), (existing) => {
        const count = Number(existing?.metadata?.labels?.count) + 1;
        return { object: podOf('a', { labels: { count: String(count) } }) };
      });
    await Promise.all(Array.from({ length: 100 }, increment));
    expect((await bench.storage.get(keyOf('a')))?.object.metadata?.labels).toEqual({ count: '100' });
  });

  it('takes one more callback for a stale suggestion, and retries what the callback refuses on it', async () => {
    const stale = await bench.create('a', { labels: { count: '0' } });
    await bench.update('a', { labels: { count: '1' } });
    await bench.caughtUp();
    const seen: (string | undefined)[] = [];
    const options = { cachedExisting: stale };
    await bench.storage.guaranteedUpdate(
      keyOf('a'),
      (existing) => {
        const count = existing?.metadata?.labels?.count;
        seen.push(count);
        if (count === '0') throw conflict({ group: '', resource: 'pods' }, 'a', 'old');
        return { object: podOf('a', { labels: { count: 'new' } }) };
      },
      options,
    );
    // The cacher replaces the suggestion with its own state, which is fresh here.
    expect(seen).toEqual(bench.fixture.isCached ? ['1'] : ['0', '1']);
  });

  it('throws what the callback throws on the present state', async () => {
    const cachedExisting = await bench.create('a');
    let calls = 0;
    const refused = bench.storage.guaranteedUpdate(
      keyOf('a'),
      () => {
        calls++;
        throw conflict({ group: '', resource: 'pods' }, 'a', 'never');
      },
      { cachedExisting },
    );
    await expect(refused).rejects.toSatisfy(isConflict);
    expect(calls).toBe(1);
  });

  it('retries preconditions that fail on a stale suggestion', async () => {
    const stale = await bench.create('a');
    const live = await bench.update('a', { node: 'n1' });
    const updated = await bench.storage.guaranteedUpdate(keyOf('a'), () => ({ object: podOf('a', { node: 'n2' }) }), {
      cachedExisting: stale,
      preconditions: { resourceVersion: String(live.revision) },
    });
    expect(updated.object.spec?.nodeName).toBe('n2');
  });

  it('stops between two attempts when the signal aborts', async () => {
    await bench.create('a');
    const abort = new AbortController();
    const stopped = bench.storage.guaranteedUpdate(
      keyOf('a'),
      async () => {
        await bench.update('a', { node: 'n1' });
        abort.abort(new Error('enough'));
        return { object: podOf('a', { node: 'n2' }) };
      },
      { signal: abort.signal },
    );
    await expect(stopped).rejects.toThrow('enough');
  });
}
