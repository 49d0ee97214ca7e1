import { objectKey } from '@kapstan/api';
import { pod, type TestPod } from '@kapstan/api/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConflatingQueue } from './conflating-queue.ts';
import type { ObjectChange } from './object-change.ts';

const names = ['a', 'b', 'c', 'd'];
const keyOf = (name: string) => objectKey('default', name);

function changeOf(type: ObjectChange<TestPod>['type'], name: string): ObjectChange<TestPod> {
  const [key, object] = [keyOf(name), pod({ name })];
  if (type === 'added') return { type, key, object, isInInitialList: false };
  return type === 'updated'
    ? { type, key, object, oldObject: object }
    : { type, key, object, isFinalStateUnknown: false };
}

/** Records the pending changes of one key at a time: at most one deletion and the changes after it. */
class Model {
  readonly #waiting: { key: string; told: ObjectChange<TestPod>['type'][] }[] = [];

  push(type: ObjectChange<TestPod>['type'], key: string): void {
    const entry = this.#waiting.find((one) => one.key === key);
    if (entry === undefined) {
      this.#waiting.push({ key, told: [type] });
      return;
    }
    const last = entry.told.at(-1);
    if (type !== 'deleted') {
      if (last === 'deleted') entry.told.push(type);
    } else if (last === 'added') entry.told.pop();
    else if (last !== 'deleted') entry.told.splice(-1, 1, 'deleted');
    this.#drop(entry);
  }

  shift(isFree: (key: string) => boolean): string | undefined {
    const entry = this.#waiting.find(({ key }) => isFree(key));
    const type = entry?.told.shift();
    if (entry !== undefined) this.#drop(entry);
    return entry && `${type} ${entry.key}`;
  }

  get keys(): string[] {
    return this.#waiting.map(({ key }) => key).sort();
  }

  #drop(entry: { told: unknown[] }): void {
    if (entry.told.length === 0) this.#waiting.splice(this.#waiting.indexOf(entry as never), 1);
  }
}

describe('ConflatingQueue', () => {
  const name = fc.constantFrom(...names);
  const push = fc.record({ type: fc.constantFrom('added' as const, 'updated' as const, 'deleted' as const), name });
  const shift = fc.record({ busy: fc.subarray(names) });

  it('hands out what waits in the order of the keys, those of busy receivers later but before what came after them', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(push, shift), { maxLength: 80 }), (program) => {
        const queue = new ConflatingQueue<TestPod>();
        const model = new Model();
        const live = new Set<string>();
        for (const step of program) {
          if ('busy' in step) {
            const busy = step.busy.map(keyOf) as string[];
            const isFree = (key: string): boolean => !busy.includes(key);
            const change = queue.shift(isFree);
            expect(change && `${change.type} ${change.key}`).toBe(model.shift(isFree));
          } else if ((step.type === 'added') !== live.has(step.name)) {
            if (step.type === 'deleted') live.delete(step.name);
            else live.add(step.name);
            queue.push(changeOf(step.type, step.name));
            model.push(step.type, keyOf(step.name));
          }
          expect([queue.size, names.map(keyOf).filter((key) => queue.has(key))]).toEqual([
            model.keys.length,
            model.keys,
          ]);
        }
      }),
    );
  });

  it('comes to an end with any number of keys, without going over those that were shifted', {
    timeout: 10_000,
  }, async () => {
    const queue = new ConflatingQueue<TestPod>();
    const shown = pod({ name: 'x' });
    for (let i = 0; i < 400_000; i++)
      queue.push({ type: 'added', key: keyOf(`p${i}`), object: shown, isInInitialList: true });
    const [first, , third] = [queue.shift(), queue.shift((key) => key !== keyOf('p1')), queue.shift()];
    let shifted = 3;
    // Works in pieces, so that the test's timeout can fire.
    for (; queue.shift() !== undefined; shifted++) if (shifted % 1000 === 0) await new Promise(setImmediate);
    expect([first?.key, third?.key, shifted, queue.size]).toEqual([keyOf('p0'), keyOf('p1'), 400_000, 0]);
  });

  it('is empty when it is cleared, and takes up anew', () => {
    const queue = new ConflatingQueue<TestPod>();
    for (const each of names) queue.push(changeOf('added', each));
    queue.shift((key) => key !== keyOf('a'));
    queue.clear();
    expect([queue.size, queue.shift()]).toEqual([0, undefined]);
    queue.push(changeOf('added', 'a'));
    expect(queue.shift()?.key).toBe(keyOf('a'));
  });
});
