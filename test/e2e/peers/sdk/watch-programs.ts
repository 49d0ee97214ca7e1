// Programs about watches of the client, without an informer.
import {
  type CallOptions,
  isExpired,
  isInvalid,
  type KubernetesObject,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '@kapstan/api';
import type { Client } from '@kapstan/client';
import { ConfigMap, Event } from '@kapstan/kinds/core/v1';
import { firstValueFrom, toArray } from 'rxjs';
import { expect } from 'vitest';
import { event, failure } from './client-programs.ts';
import { eventually, type Programs, type Scene } from './scene.ts';

export const watchPrograms: Programs = {
  'watches what happens after a version, in order': async (scene) => {
    const { client, namespace } = scene;
    const { resourceVersion } = await client.listPage(ConfigMap, { namespace });
    const made = await client.create(ConfigMap, { metadata: { namespace, name: 'a' } });
    const heard = watch(scene, ConfigMap, { namespace, resourceVersion });
    await client.mergePatch(ConfigMap, { namespace, name: 'a' }, { data: { k: 'v' } });
    await client.delete(ConfigMap, { namespace, name: 'a' });
    await eventually(() => expect(heard.map(text)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']));
    const versions = heard.map(versionOf);
    expect(versions[0]).toBe(made.metadata?.resourceVersion);
    expect([...versions].sort((a, b) => Number(a) - Number(b))).toEqual(versions);
    expect(new Set(versions).size).toBe(3);
    // The last state, with the version of its deletion.
    expect(heard[2]).toMatchObject({ object: { kind: 'ConfigMap', apiVersion: 'v1', data: { k: 'v' } } });
    const resumed = watch(scene, ConfigMap, { namespace, resourceVersion: versions[1] ?? '' });
    await eventually(() => expect(resumed.map(text)).toEqual(['DELETED a']));
  },

  'sees objects enter and leave its selector': async (scene) => {
    const { client, namespace } = scene;
    const at = { namespace, name: 'a' };
    const { resourceVersion } = await client.listPage(ConfigMap, { namespace });
    const heard = watch(scene, ConfigMap, { namespace, resourceVersion, labelSelector: 'on=yes' });
    await client.create(ConfigMap, { metadata: at, data: { n: '1' } });
    const patch = (labels: object, n: string) =>
      client.mergePatch(ConfigMap, at, { metadata: { labels }, data: { n } });
    await patch({ on: 'yes' }, '2');
    await patch({ on: 'yes' }, '3');
    const left = await patch({ on: 'no' }, '4');
    await patch({ on: 'yes' }, '5');
    await client.delete(ConfigMap, at);
    await eventually(() =>
      expect(heard.map(text)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a']),
    );
    // The last state in which it was selected, with the version at which it left the selection.
    expect(heard[2]).toMatchObject({ object: { data: { n: '3' }, metadata: { labels: { on: 'yes' } } } });
    expect(versionOf(heard[2] as WatchEvent<ConfigMap>)).toBe(left.metadata?.resourceVersion);
  },

  'watches one object by its name': async (scene) => {
    const { client, namespace } = scene;
    const heard = watch(scene, ConfigMap, { namespace, fieldSelector: 'metadata.name=b' });
    for (const name of ['a', 'b', 'c']) await client.create(ConfigMap, { metadata: { namespace, name } });
    await eventually(() => expect(heard.map(text)).toEqual(['ADDED b']));
  },

  'streams a list, ends it with a marked bookmark, and goes on': async (scene) => {
    const { client, namespace } = scene;
    for (const name of ['a', 'b']) await client.create(ConfigMap, { metadata: { namespace, name } });
    const heard = watch(scene, ConfigMap, { namespace, ...streamed });
    await eventually(() => expect(heard.map(text)).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK end']));
    const { resourceVersion } = await client.listPage(ConfigMap, { namespace });
    expect(Number(versionOf(heard[2] as WatchEvent<ConfigMap>))).toBeGreaterThanOrEqual(
      Number(versionOf(heard[1] as WatchEvent<ConfigMap>)),
    );
    expect(Number(resourceVersion)).toBeGreaterThanOrEqual(Number(versionOf(heard[1] as WatchEvent<ConfigMap>)));
    await client.create(ConfigMap, { metadata: { namespace, name: 'c' } });
    await eventually(() => expect(heard.map(text).at(-1)).toBe('ADDED c'));
    const wrong = await failure(firstValueFrom(client.watch(ConfigMap, { namespace, sendInitialEvents: true })));
    expect([isInvalid(wrong), wrong.message]).toEqual([
      true,
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    ]);
  },

  'streams a list of what the server does not cache': async (scene) => {
    const { client, namespace } = scene;
    await client.create(Event, event({ namespace, name: 'a' }));
    const heard = watch(scene, Event, { namespace, ...streamed });
    await eventually(() => expect(heard.map(text)).toEqual(['ADDED a', 'BOOKMARK end']));
    await client.create(Event, event({ namespace, name: 'b' }));
    await eventually(() => expect(heard.map(text).at(-1)).toBe('ADDED b'));
  },

  'gets a bookmark before the time of its watch is over, and then the end': async ({ client, namespace }) => {
    const { resourceVersion } = await client.listPage(ConfigMap, { namespace });
    // This write happens only once the watch is open, because a kube-apiserver sends no bookmark for events that it
    // replays from its cache.
    const elsewhere = { metadata: { namespace: 'default', name: `elsewhere-${namespace}` } };
    const onOpen = (): void => void client.create(ConfigMap, elsewhere);
    const options = { namespace, resourceVersion, allowWatchBookmarks: true, timeoutSeconds: 4, onOpen };
    const heard = await firstValueFrom(client.watch(ConfigMap, options).pipe(toArray()));
    expect(new Set(heard.map(text))).toEqual(new Set(['BOOKMARK']));
    expect(Number(versionOf(heard[0] as WatchEvent<ConfigMap>))).toBeGreaterThan(Number(resourceVersion));
  },

  'is told when the version that it asks for is gone by a compaction': async (scene) => {
    const { client, namespace, server } = scene;
    const { resourceVersion } = await client.listPage(Event, { namespace });
    for (const name of ['a', 'b']) await client.create(Event, event({ namespace, name }));
    await server.compact();
    const compacted = await failure(firstValueFrom(client.watch(Event, { namespace, resourceVersion })));
    expect([isExpired(compacted), compacted.message]).toEqual([
      true,
      'The resourceVersion for the provided watch is too old.',
    ]);
  },

  'reads events one by one, and ends when it leaves the loop': async ({ client, namespace }) => {
    const { resourceVersion } = await client.listPage(ConfigMap, { namespace });
    for (const name of ['a', 'b', 'c']) await client.create(ConfigMap, { metadata: { namespace, name } });
    const names = [];
    for await (const heard of client.watchEvents(ConfigMap, { namespace, resourceVersion })) {
      names.push(text(heard));
      if (names.length === 3) break;
    }
    expect(names).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
  },
};

const streamed = {
  sendInitialEvents: true,
  resourceVersionMatch: 'NotOlderThan',
  allowWatchBookmarks: true,
} as const;

/** Collects the events of a watch until the end of the program. */
function watch<T extends KubernetesObject>(
  scene: Scene & { readonly client: Client },
  token: Resource<T>,
  options: WatchOptions & CallOptions,
): WatchEvent<T>[] {
  const heard: WatchEvent<T>[] = [];
  const subscription = scene.client.watch(token, options).subscribe((one) => void heard.push(one));
  scene.defer(() => subscription.unsubscribe());
  return heard;
}

function text(heard: WatchEvent<KubernetesObject>): string {
  if (heard.type === 'BOOKMARK') return heard.initialEventsEnd ? 'BOOKMARK end' : 'BOOKMARK';
  return `${heard.type} ${heard.object.metadata?.name}`;
}

function versionOf(heard: WatchEvent<KubernetesObject>): string {
  return heard.type === 'BOOKMARK' ? heard.resourceVersion : (heard.object.metadata?.resourceVersion ?? '');
}
