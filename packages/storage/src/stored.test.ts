import type { KubernetesObject, Revision } from '@kapstan/api';
import { expect, it } from 'vitest';
import { jsonEncoding, Stored } from './stored.ts';

const revision = 7 as Revision;
const object = (): KubernetesObject => ({
  kind: 'Thing',
  apiVersion: 'v1',
  metadata: { name: 'a', resourceVersion: '7' },
});

function storedWithParser() {
  let parses = 0;
  const stored = new Stored('/things/a', revision, object());
  stored.rememberParser(() => {
    parses += 1;
    return object();
  });
  return { stored, parses: () => parses };
}

it('gives the same object until it is released, then one like it that is made once', () => {
  const { stored, parses } = storedWithParser();
  const first = stored.object;
  expect(stored.object).toBe(first);
  expect(parses()).toBe(0);
  stored.release();
  const second = stored.object;
  expect(second).toEqual(first);
  expect(second).not.toBe(first);
  expect(stored.object).toBe(second);
  expect(parses()).toBe(1);
});

it('keeps an object that could not be made again', () => {
  const stored = new Stored('/things/a', revision, object());
  const first = stored.object;
  stored.release();
  expect(stored.object).toBe(first);
});

const nameOnly = {
  name: 'name',
  encode: (it: Stored<KubernetesObject>) => Buffer.from(it.object.metadata?.name ?? ''),
};

it('makes an encoding once while the object is held', () => {
  const { stored } = storedWithParser();
  const bytes = stored.encoded(nameOnly);
  expect(Buffer.from(bytes).toString()).toBe('a');
  expect(stored.encoded(nameOnly)).toBe(bytes);
});

it('keeps only the JSON of a released object, whatever encoding is requested', () => {
  const { stored, parses } = storedWithParser();
  const held = stored.encoded(nameOnly);
  stored.release();
  expect(stored.encoded(nameOnly)).not.toBe(held);
  expect(parses()).toBe(1);
  expect(stored.encoded(nameOnly)).not.toBe(stored.encoded(nameOnly));
  expect(parses()).toBe(3);
  const json = stored.encoded(jsonEncoding);
  expect(json).toEqual(new TextEncoder().encode(JSON.stringify(object())));
  expect(stored.encoded(jsonEncoding)).toBe(json);
  expect(parses()).toBe(4);
});

it('is looked at without being held, unless it is held already', () => {
  const { stored, parses } = storedWithParser();
  const held = stored.object;
  stored.view((seen) => expect(seen).toBe(held));
  expect(stored.object).toBe(held);
  stored.release();
  expect(stored.view(({ metadata }) => metadata?.name)).toBe('a');
  expect(() =>
    stored.view(() => {
      throw new TypeError('no');
    }),
  ).toThrow(TypeError);
  expect(parses()).toBe(2);
  expect([stored.object, parses()]).toEqual([object(), 3]);
});

it('keeps an object that somebody looks at while it is encoded', () => {
  const { stored, parses } = storedWithParser();
  const first = stored.object;
  stored.encoded(jsonEncoding);
  expect(stored.object).toBe(first);
  expect(parses()).toBe(0);
});

it('gives bytes that are known without looking at the object', () => {
  const { stored, parses } = storedWithParser();
  const bytes = Buffer.from('{}');
  stored.rememberEncoded('json', bytes);
  stored.release();
  expect(stored.encoded(jsonEncoding)).toBe(bytes);
  expect(parses()).toBe(0);
});

it('is let go of at another revision too, and is as large there as it was', () => {
  const { stored, parses } = storedWithParser();
  stored.storedBytes = 400;
  const deleted = stored.atRevision(9 as Revision);
  const seen = deleted.object;
  expect([deleted.key, deleted.revision, deleted.storedBytes]).toEqual(['/things/a', 9, 400]);
  expect(seen).toEqual({ ...object(), metadata: { name: 'a', resourceVersion: '9' } });
  expect(parses()).toBe(0);
  const json = deleted.encoded(jsonEncoding);
  deleted.release();
  expect(deleted.object).not.toBe(seen);
  expect(deleted.object).toEqual(seen);
  expect(parses()).toBe(1);
  expect(deleted.encoded(jsonEncoding)).toBe(json);
});

it('stays released when it is asked for at another revision', () => {
  const { stored, parses } = storedWithParser();
  stored.release();
  stored.atRevision(9 as Revision);
  expect(parses()).toBe(1);
  expect([stored.object.metadata?.resourceVersion, parses()]).toEqual(['7', 2]);
});

it('cannot be parsed again at another revision when it could not before', () => {
  const deleted = new Stored('/things/a', revision, object()).atRevision(9 as Revision);
  const seen = deleted.object;
  deleted.release();
  expect(deleted.object).toBe(seen);
});

it('is frozen at another revision when it was before', () => {
  const frozen = new Stored('/things/a', revision, Object.freeze(object()));
  const { object: copy } = frozen.atRevision(9 as Revision);
  expect([Object.isFrozen(copy), Object.isFrozen(copy.metadata)]).toEqual([true, true]);
  const { object: open } = new Stored('/things/a', revision, object()).atRevision(9 as Revision);
  expect([Object.isFrozen(open), Object.isFrozen(open.metadata)]).toEqual([false, false]);
});
