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

it('keeps of a released object its JSON alone, whatever it is asked for', () => {
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
