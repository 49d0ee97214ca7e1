// The storage stack as a library, without an API server: objects in the embedded engine, and a watch cache over them. On etcd it
// works the same with openEtcdEngine of @kapstan/storage-etcd.
import process from 'node:process';
import { everyField, everyLabel, type KubernetesObject, parseFieldSelector } from '@kapstan/api';
import { Cacher } from '@kapstan/cacher';
import { defaultAttributes, type GetAttributes, jsonCodec, ObjectStore } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';

type Task = KubernetesObject & { spec: { text: string; owner: string } };
const taskOf = (name: string, owner: string, text: string): Task => ({
  apiVersion: 'demo.dev/v1',
  kind: 'Task',
  metadata: { name, namespace: 'home' },
  spec: { text, owner },
});

const dataDir = process.argv[2] ?? '.storage-stack';
const engine = await openLmdbEngine({ dataDir, onFatal: () => process.exit(1) });
const resourcePrefix = '/tasks'; // below "/registry", the default keyPrefix
const groupResource = { group: 'demo.dev', resource: 'tasks' };
const store = new ObjectStore<Task>({ engine, codec: jsonCodec(), resourcePrefix, groupResource });

// The attributes that selectors see. Every field that is indexed or selected by must be among them.
const metadataOf = defaultAttributes(true);
const getAttributes: GetAttributes<Task> = (task) => {
  const { labels, fields } = metadataOf(task);
  return { labels, fields: { ...fields, 'spec.owner': task.spec.owner } };
};
const all = {
  labels: everyLabel,
  fields: everyField,
  getAttributes,
  limit: 0,
  continue: '',
  allowWatchBookmarks: false,
};
const cacher = new Cacher<Task>({ storage: store, resourcePrefix, getAttributes, indexedFields: ['spec.owner'] });
cacher.start();
await cacher.waitUntilReady();

// A watch of one owner's tasks: the present ones, then changes. Objects are shared: copy one before you change it.
const options = { predicate: { ...all, fields: parseFieldSelector('spec.owner=ann') }, recursive: true };
const deleted = new Promise<void>((resolve) => {
  const onEnd = (error?: Error): void => console.log('the watch ended:', error?.message ?? 'in peace');
  const watch = cacher.watch('/registry/tasks', options, {
    onEvent: (event) => {
      if (event.type === 'BOOKMARK') return;
      console.log(event.type, event.stored.key, event.stored.object.spec.text);
      if (event.type !== 'DELETED') return;
      watch.close();
      resolve();
    },
    onEnd,
  });
});
const key = '/registry/tasks/home/wash';
await cacher.create('/registry/tasks/home/cook', taskOf('cook', 'bob', 'soup'));
await cacher.create(key, taskOf('wash', 'ann', 'plates'));
await cacher.guaranteedUpdate(key, () => ({ object: taskOf('wash', 'ann', 'plates, dried') }));
await cacher.delete(key);
await deleted;

// Pages, all at one revision: limit and continue token are part of the predicate.
await cacher.create(key, taskOf('wash', 'ann', 'windows'));
let token = '';
do {
  const predicate = { ...all, limit: 1, continue: token };
  const page = await cacher.getList('/registry/tasks', { predicate, recursive: true });
  console.log('page:', page.items[0]?.object.spec.text, 'and', page.remainingItemCount ?? 0, 'more');
  token = page.continue;
} while (token !== '');
for (const left of [key, '/registry/tasks/home/cook']) await cacher.delete(left);
// The layers are closed from the top down, because no layer closes the one below it.
await cacher.close();
await store.close();
await engine.close();
