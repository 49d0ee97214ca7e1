// Part of storage-conformance.ts: keys, creates, gets and deletes.
import { isTooLargeResourceVersion, type StatusError } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import { expect, it } from 'vitest';
import { isStorageError, type StorageErrorCode } from '../errors/storage-error.ts';
import { jsonEncoding } from '../stored.ts';
import { keyOf, podOf, predicate, root, type StorageBench } from './storage-fixture.ts';
import { StorageRecorder } from './storage-recorder.ts';

const pods = { group: '', resource: 'pods' };

async function expectStorageError(work: Promise<unknown>, code: StorageErrorCode): Promise<void> {
  await expect(work).rejects.toSatisfy((error) => isStorageError(error, code));
}

export function writeConformance(bench: StorageBench): void {
  createConformance(bench);
  getConformance(bench);
  deleteConformance(bench);
  suggestionConformance(bench);
  corruptConformance(bench);
}

function createConformance(bench: StorageBench): void {
  it('stores an object without its version and gives it back with one', async () => {
    const created = await bench.create('a', { labels: { app: 'web' } });
    expect(created.object.metadata?.resourceVersion).toBe(String(created.revision));
    expect(created.object.metadata?.labels).toEqual({ app: 'web' });
    const raw = await bench.rawText('a');
    expect(raw).not.toContain('resourceVersion');
    expect(raw).not.toContain('selfLink');
    const wire = JSON.parse(Buffer.from(created.encoded(jsonEncoding)).toString());
    expect(wire).toEqual(created.object);
  });

  it('stores and returns no selfLink', async () => {
    const withLink = { ...podOf('a'), metadata: { ...podOf('a').metadata, selfLink: '/self' } };
    const created = await bench.storage.create(keyOf('a'), withLink);
    expect(created.object.metadata).not.toHaveProperty('selfLink');
    expect(await bench.rawText('a')).not.toContain('/self');
  });

  it('refuses to create an object that carries a version', async () => {
    const withVersion = { ...podOf('a'), metadata: { ...podOf('a').metadata, resourceVersion: '1' } };
    await expect(bench.storage.create(keyOf('a'), withVersion)).rejects.toThrow(
      'resourceVersion should not be set on objects to be created',
    );
  });

  it('refuses a second object at a key', async () => {
    await bench.create('a');
    const error = await bench.create('a').catch((thrown: unknown) => thrown);
    expect(isStorageError(error, 'KeyExists')).toBe(true);
    expect((error as Error).message).toBe(
      `StorageError: key exists, Code: 2, Key: ${keyOf('a')}, ResourceVersion: 0, AdditionalErrorMsg: `,
    );
  });

  it('lets an object expire, seen as DELETED', async () => {
    const watch = bench.watch();
    const created = await bench.create('a', {}, 1);
    await watch.received(1);
    await bench.fixture.clock.advance(200_000);
    expect((await watch.received(2))[1]).toMatch(/^DELETED a@/);
    expect(await bench.storage.get(keyOf('a'))).toBeUndefined();
    expect(watch.events.at(-1)).toMatchObject({
      stored: { object: { metadata: { uid: created.object.metadata?.uid } } },
    });
  });

  it('keeps a name and a key like __proto__ and numbers digit for digit', async () => {
    const object = JSON.parse('{"metadata":{"name":"p","labels":{"__proto__":"x"}},"spec":{"__proto__":{"a":1}}}');
    const created = await bench.storage.create(keyOf('p'), object);
    expect(JSON.stringify(created.object)).toContain('"__proto__":{"a":1}');
    const read = await bench.storage.get(keyOf('p'));
    expect(Buffer.from(read?.encoded(jsonEncoding) ?? []).toString()).toContain('"labels":{"__proto__":"x"}');
  });

  it.each([
    ['', 'empty key: ""'],
    ['/', 'empty key: "/"'],
    ['..', 'invalid key: ".."'],
    ['../registry/pods/a', 'invalid key: "../registry/pods/a"'],
    [`${root}/..`, `invalid key: "${root}/.."`],
    [`${root}/a/../b`, `invalid key: "${root}/a/../b"`],
    [`${root}/./a`, `invalid key: "${root}/./a"`],
    ['pods', 'invalid key: "pods" lacks resource prefix: "/registry/pods/"'],
    ['/registry/podskey', 'invalid key: "/registry/podskey" lacks resource prefix: "/registry/pods/"'],
    ['/registry/pods.apps/a', 'invalid key: "/registry/pods.apps/a" lacks resource prefix: "/registry/pods/"'],
  ])('refuses the key %j in every method', async (key, message) => {
    const { storage } = bench;
    const everything = predicate();
    const call = async (work: () => unknown): Promise<void> => {
      const error: unknown = await (async () => work())().catch((thrown: unknown) => thrown);
      expect(isStorageError(error, 'InvalidKey') && error.detail).toBe(message);
    };
    await call(() => storage.create(key, podOf('a')));
    await call(() => storage.get(key));
    await call(() => storage.delete(key));
    await call(() => storage.guaranteedUpdate(key, () => ({ object: podOf('a') })));
    await call(() => storage.getList(key, { predicate: everything, recursive: false }));
    await call(() => StorageRecorder.start(storage, key, { predicate: everything, recursive: false }));
  });

  it.each(['a.b.c', 'bar..', '...'])('takes the name %j', async (name) => {
    await bench.create(name);
    expect(await bench.names()).toEqual([name]);
  });
}

function getConformance(bench: StorageBench): void {
  it('reads at any version up to the newest, and refuses one of the future', async () => {
    const first = await bench.create('a');
    const second = await bench.update('a', { node: 'n' });
    await bench.create('b');
    const revision = await bench.caughtUp();
    for (const resourceVersion of ['', '0', String(first.revision), String(second.revision), String(revision)]) {
      const got = await bench.storage.get(keyOf('a'), { resourceVersion });
      expect(got?.object, resourceVersion).toEqual(second.object);
    }
    const future = bench.storage.get(keyOf('a'), { resourceVersion: String(revision + 1) });
    const [error] = await Promise.all([future.catch((thrown: unknown) => thrown), bench.fixture.clock.advance(3_000)]);
    expect(isTooLargeResourceVersion(error)).toBe(true);
    expect((error as Error).message).toBe(`Timeout: Too large resource version: ${revision + 1}, current: ${revision}`);
  });

  it('answers undefined for an absent key', async () => {
    expect(await bench.storage.get(keyOf('none'))).toBeUndefined();
    await bench.caughtUp();
    expect(await bench.storage.get(keyOf('none'), { resourceVersion: '0' })).toBeUndefined();
  });

  it('refuses a version that is no number with 500 and the text of Go', async () => {
    const error = await bench.storage.get(keyOf('a'), { resourceVersion: 'abc' }).catch((thrown: unknown) => thrown);
    expect((error as StatusError).code).toBe(500);
    expect((error as StatusError).message).toBe(
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    );
  });

  it('takes revisions for writes alone, whoever writes, and tells the newest', async () => {
    await bench.create('a');
    const change = { type: 'put', value: new Uint8Array(1) } as const;
    const key = '/registry/secrets/default/x';
    const { revision } = await bench.engine.commit({ key, expectedRevision: 0 as never, change });
    expect(await bench.storage.currentResourceVersion()).toBe(revision);
    await bench.storage.get(keyOf('a'));
    await bench.list();
    await bench.list({ recursive: false }, keyOf('none'));
    await bench.storage.stats();
    await bench.watch().received(1);
    await bench.engine.count({ start: root, end: `${root}0` });
    expect(await bench.storage.currentResourceVersion()).toBe(revision);
    await expectStorageError(bench.create('a'), 'KeyExists');
    expect(await bench.storage.currentResourceVersion()).toBe(revision);
    await bench.create('b');
    expect(await bench.storage.currentResourceVersion()).toBe(revision + 1);
  });

  it('counts its own objects and not those of a neighbour', async () => {
    expect(await bench.storage.stats()).toMatchObject({ objectCount: 0, averageObjectBytes: 0 });
    await bench.createAll('a', 'b', 'other/c');
    const change = { type: 'put', value: new Uint8Array(1) } as const;
    await bench.engine.commit({ key: '/registry/podskey', expectedRevision: 0 as never, change });
    expect((await bench.storage.stats()).objectCount).toBe(3);
    await bench.remove('b');
    expect((await bench.storage.stats()).objectCount).toBe(2);
    const revision = await bench.storage.currentResourceVersion();
    expect(revision).toBe(await bench.engine.currentRevision());
  });
}

function deleteConformance(bench: StorageBench): void {
  it('deletes an object, and shows its last state at the revision of the deletion', async () => {
    await expectStorageError(bench.remove('a'), 'KeyNotFound');
    const created = await bench.create('a', { labels: { x: '1' } });
    const deleted = await bench.remove('a');
    expect(deleted.revision).toBeGreaterThan(created.revision);
    expect(deleted.object.metadata?.resourceVersion).toBe(String(deleted.revision));
    expect(deleted.object.metadata?.labels).toEqual({ x: '1' });
    expect(await bench.storage.get(keyOf('a'))).toBeUndefined();
  });

  it('deletes only what the preconditions name', async () => {
    const created = await bench.create('a');
    const wrongUid = bench.storage.delete(keyOf('a'), { preconditions: { uid: 'other' } });
    await expect(wrongUid).rejects.toThrow(
      'Precondition failed: UID in precondition: other, UID in object meta: uid-default-a',
    );
    const wrongVersion = bench.storage.delete(keyOf('a'), { preconditions: { resourceVersion: '1' } });
    await expect(wrongVersion).rejects.toThrow(
      `Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: ${created.revision}`,
    );
    const preconditions = { uid: 'uid-default-a', resourceVersion: String(created.revision) };
    await bench.storage.delete(keyOf('a'), { preconditions });
  });

  it('leaves the object alone when the validation refuses', async () => {
    await bench.create('a');
    const refused = bench.storage.delete(keyOf('a'), {
      validateDeletion: () => {
        throw forbidden(pods, 'a', 'not now');
      },
    });
    await expect(refused).rejects.toThrow('pods "a" is forbidden: not now');
    expect(await bench.names()).toEqual(['a']);
  });

  it('validates again when the object changes meanwhile, and then deletes the new state', async () => {
    await bench.create('a');
    const seen: (string | undefined)[] = [];
    const deleted = await bench.storage.delete(keyOf('a'), {
      validateDeletion: async (object) => {
        seen.push(object?.spec?.nodeName);
        if (seen.length === 1) await bench.update('a', { node: 'n1' });
      },
    });
    expect(seen).toEqual([undefined, 'n1']);
    expect(deleted.object.spec?.nodeName).toBe('n1');
  });
}

/** Tests calls with a state from the caller or the cache, which may be old. */
function suggestionConformance(bench: StorageBench): void {
  it('deletes with a fresh suggestion', async () => {
    const cachedExisting = await bench.create('a');
    await bench.storage.delete(keyOf('a'), { cachedExisting });
    expect(await bench.names()).toEqual([]);
  });

  it('deletes the live object when the suggestion is stale', async () => {
    const cachedExisting = await bench.create('a');
    await bench.update('a', { node: 'n1' });
    const deleted = await bench.storage.delete(keyOf('a'), { cachedExisting });
    expect(deleted.object.spec?.nodeName).toBe('n1');
  });

  it('says KeyNotFound when the suggested object is gone', async () => {
    const cachedExisting = await bench.create('a');
    await bench.remove('a');
    await expectStorageError(bench.storage.delete(keyOf('a'), { cachedExisting }), 'KeyNotFound');
  });

  it('asks the validation again with the live object when it refused a stale suggestion', async () => {
    const cachedExisting = await bench.create('a');
    await bench.update('a', { labels: { ok: 'yes' } });
    await bench.storage.delete(keyOf('a'), {
      cachedExisting,
      validateDeletion: (object) => {
        if (object?.metadata?.labels?.ok !== 'yes') throw forbidden(pods, 'a', 'not ok');
      },
    });
    expect(await bench.names()).toEqual([]);
  });

  it('refuses when only the suggestion would pass', async () => {
    const cachedExisting = await bench.create('a', { labels: { ok: 'yes' } });
    await bench.update('a', { labels: { ok: 'no' } });
    const validateDeletion = (object: { metadata?: { labels?: Record<string, string> } } | undefined): void => {
      if (object?.metadata?.labels?.ok !== 'yes') throw forbidden(pods, 'a', 'not ok');
    };
    const refused = bench.storage.delete(keyOf('a'), {
      cachedExisting,
      validateDeletion: validateDeletion as (object: unknown) => void,
    });
    await expect(refused).rejects.toThrow('not ok');
    const version = { resourceVersion: String(cachedExisting.revision) };
    const onlyOld = bench.storage.delete(keyOf('a'), { cachedExisting, preconditions: version });
    await expectStorageError(onlyOld, 'InvalidObject');
    expect(await bench.names()).toEqual(['a']);
  });

  it('re-evaluates preconditions that fail on a stale suggestion', async () => {
    const cachedExisting = await bench.create('a');
    const live = await bench.update('a', { node: 'n1' });
    const preconditions = { resourceVersion: String(live.revision) };
    await bench.storage.delete(keyOf('a'), { cachedExisting, preconditions });
    expect(await bench.names()).toEqual([]);
  });
}

function corruptConformance(bench: StorageBench): void {
  it('names the key of an object that cannot be read, and reads the others', async () => {
    await bench.createAll('a', 'b');
    await bench.overwrite('a', 'garbage');
    for (const work of [
      () => bench.storage.get(keyOf('a')),
      () => bench.storage.guaranteedUpdate(keyOf('a'), (existing) => ({ object: existing ?? podOf('a') })),
      () => bench.storage.delete(keyOf('a')),
    ]) {
      const error: unknown = await work().catch((thrown: unknown) => thrown);
      expect(isStorageError(error, 'Corrupt') && error.key).toBe(keyOf('a'));
      expect((error as Error).message).toMatch(
        /data from the storage is not transformable revision=\d+: no known prefix/,
      );
    }
    expect((await bench.storage.get(keyOf('b')))?.object.metadata?.name).toBe('b');
    await bench.overwrite('a', 'enc:1:{"metadata"');
    await expect(bench.storage.get(keyOf('a'))).rejects.toThrow(/object not decodable revision=\d+: /);
  });

  it('deletes a corrupt object on explicit demand only, and refuses that for a readable one', async () => {
    await bench.create('a');
    const refused = bench.storage.deleteUnreadable(keyOf('a'));
    await expect(refused).rejects.toThrow(
      'unsafe deletion is not allowed because the object is decodable from storage',
    );
    await bench.overwrite('a', 'garbage');
    const refuse = (): never => {
      throw new TypeError('no');
    };
    await expect(bench.storage.deleteUnreadable(keyOf('a'), { validateDeletion: refuse })).rejects.toThrow('no');
    await expectStorageError(bench.storage.delete(keyOf('a')), 'Corrupt');
    expect(await bench.storage.deleteUnreadable(keyOf('a'))).toBe(await bench.engine.currentRevision());
    expect(await bench.storage.get(keyOf('a'))).toBeUndefined();
    await expectStorageError(bench.storage.deleteUnreadable(keyOf('a')), 'KeyNotFound');
  });

  it('refuses the unsafe deletion of an object that became readable meanwhile', async () => {
    await bench.create('a');
    const readable = await bench.rawText('a');
    await bench.overwrite('a', 'garbage');
    const refused = bench.storage.deleteUnreadable(keyOf('a'), {
      validateDeletion: async () => {
        await bench.overwrite('a', readable);
      },
    });
    await expectStorageError(refused, 'InvalidObject');
    expect((await bench.storage.get(keyOf('a')))?.object.metadata?.name).toBe('a');
  });
}
