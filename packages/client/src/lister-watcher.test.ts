import { type KubernetesObject, type ListerWatcher, resource } from '@kapstan/api';
import { firstValueFrom, take, toArray } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { json, type ScriptedServer, status, stream } from './testing/scripted-server.ts';
import { servedClient } from './testing/served-client.ts';
import { WireClient as Client } from './testing/wire-client.ts';

interface Pod extends KubernetesObject {
  spec?: { image: string };
}
const Pod = resource<Pod>({ group: '', version: 'v1', kind: 'Pod' });
const spec = { image: 'x'.repeat(1200) };
const pod = (index: number): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: `web-${index}`, generateName: 'web-', namespace: 'n' },
  spec,
});
const list = (indexes: readonly number[]) =>
  json({ kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '9' }, items: indexes.map(pod) });
const event = (index: number): string => `${JSON.stringify({ type: 'ADDED', object: pod(index) })}\n`;

describe('what lists and watches hold in common', () => {
  let server: ScriptedServer;
  let client: Client;
  beforeEach(async () => {
    ({ server, client } = await servedClient());
  });

  it('is one frozen value in all objects of a lister-watcher, with sharesEqualParts', async () => {
    await using sharing = new Client({ server: server.url }, { sharesEqualParts: true });
    const source = sharing.listerWatcher(Pod);
    server.next(list([0, 1, 2, 3, 4]));
    const { items } = await source.list({});
    server.next(stream(event(5), event(6)));
    const events = await firstValueFrom(source.watch({}).pipe(take(2), toArray()));
    const objects = [...items, ...events.map((one) => (one.type === 'BOOKMARK' ? undefined : one.object))];
    expect(objects).toEqual([0, 1, 2, 3, 4, 5, 6].map(pod));
    expect(new Set(objects.slice(3).map((object) => object?.spec)).size).toBe(1);
    expect(Object.isFrozen(objects[3]?.spec)).toBe(true);
    expect(Object.isFrozen(objects[3]?.metadata)).toBe(false);
  });

  it('is nothing without it: each object is its own, and nobody froze it', async () => {
    const source = client.listerWatcher(Pod);
    server.next(list([0, 1, 2, 3, 4]));
    const { items } = await source.list({});
    expect(new Set(items.map((object) => object.spec)).size).toBe(5);
    expect(items.some((object) => Object.isFrozen(object.spec))).toBe(false);
  });

  it('is also the knowledge that the server answers again, whoever was answered', async () => {
    const told: string[] = [];
    const wait = (name: string, source: Pick<ListerWatcher<Pod>, 'whenReachable'>) =>
      source.whenReachable?.(() => told.push(name));
    wait('pods', client.listerWatcher(Pod));
    wait('metadata', client.listerWatcher(Pod, { metadataOnly: true }));
    wait('reader', client.metadata.listerWatcher(Pod));
    wait('nobody', client.listerWatcher(Pod))?.();
    server.next(json(status(503, 'ServiceUnavailable', 'x'), { status: 503 }));
    await client.get(Pod, { namespace: 'n', name: 'a' }).catch(() => undefined);
    expect(told).toEqual([]);
    server.next(json(status(403, 'Forbidden', 'x'), { status: 403 }));
    await client.get(Pod, { namespace: 'n', name: 'a' }).catch(() => undefined);
    expect(told).toEqual(['pods', 'metadata', 'reader']);
  });

  it('is each its own in what a caller may change: lists, pages and watches', async () => {
    server.next(list([0, 1, 2, 3, 4]), list([0, 1, 2, 3, 4]));
    const listed = [...(await client.list(Pod)), ...(await client.listPage(Pod)).items];
    server.next(stream(...[5, 6, 7, 8, 9].map(event)));
    const watched = await firstValueFrom(client.watch(Pod).pipe(take(5), toArray()));
    const objects = [...listed, ...watched.map((one) => (one.type === 'BOOKMARK' ? undefined : one.object))];
    expect(new Set(objects.map((object) => object?.spec)).size).toBe(15);
    expect(objects.some((object) => Object.isFrozen(object?.spec))).toBe(false);
  });
});
