import { expect, it } from 'vitest';
import { internalError } from '../errors/status-error.ts';
import { configMap, type TestConfigMap } from './builders.ts';
import { FakeListerWatcher } from './fake-lister-watcher.ts';
import { listWatchConformance } from './list-watch-conformance.ts';

await listWatchConformance('the fake', async () => {
  const fake = new FakeListerWatcher<TestConfigMap>({ startVersion: 5 });
  return {
    listerWatcher: fake,
    create: async (object) => void fake.add(object),
    update: async (object) => void fake.modify(object),
    delete: async (name) => fake.delete({ name }),
    compact: async () => fake.expire(),
    close: async () => expect(fake.openWatches).toBe(0),
  };
});

it('hands out objects that nobody can change (I6)', () => {
  const stored = new FakeListerWatcher<TestConfigMap>().add(configMap({ name: 'a' }, { k: '1' }));
  expect(() => {
    (stored.data as Record<string, string>).k = '2';
  }).toThrow(TypeError);
});

it('fails the next request with the given error, once', async () => {
  const fake = new FakeListerWatcher<TestConfigMap>();
  fake.failNext('list', internalError('boom'));
  await expect(fake.list({})).rejects.toThrow('boom');
  await expect(fake.list({})).resolves.toMatchObject({ items: [] });
});

it('delivers nothing to half-open watches, and an error to reset ones', () => {
  const fake = new FakeListerWatcher<TestConfigMap>();
  const seen: string[] = [];
  fake.watch({}).subscribe({ next: (event) => seen.push(event.type), complete: () => seen.push('end') });
  fake.add(configMap({ name: 'a' }));
  fake.halfOpen();
  fake.add(configMap({ name: 'b' }));
  fake.resetWatches();
  expect(seen).toEqual(['ADDED', 'end']);
});

it('refuses a streamed list when it is set to support none', () => {
  const fake = new FakeListerWatcher<TestConfigMap>({ supportsWatchList: false });
  let reason = '';
  fake.watch({ sendInitialEvents: true }).subscribe({ error: (error) => (reason = error.reason) });
  expect(reason).toBe('Invalid');
});
