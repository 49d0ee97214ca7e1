import { objectKey } from '@kapstan/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedQueue } from './keyed-queue.ts';

const keys = ['a', 'b', 'c', 'd'].map((name) => objectKey('ns', name));

describe('KeyedQueue', () => {
  it('hands out entries in the order of their keys, those that came while others waited last', () => {
    const queue = new KeyedQueue<number>();
    const [a, b, c] = keys as [(typeof keys)[0], (typeof keys)[0], (typeof keys)[0]];
    queue.push(a, 1);
    queue.push(b, 2);
    expect(queue.shift()).toEqual({ key: a, value: 1 });
    queue.push(c, 3);
    queue.push(a, 4);
    expect([queue.keys(), queue.size]).toEqual([[b, c, a], 3]);
    expect([queue.shift()?.value, queue.shift()?.value, queue.shift()?.value, queue.shift()]).toEqual([
      2,
      3,
      4,
      undefined,
    ]);
  });

  it('does what a list of entries does', () => {
    const steps = fc.array(fc.oneof(fc.constant('shift' as const), fc.constantFrom(...keys)), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (program) => {
        const queue = new KeyedQueue<number>();
        const model: { key: (typeof keys)[0]; value: number }[] = [];
        for (const [at, step] of program.entries()) {
          if (step === 'shift') expect(queue.shift()).toEqual(model.shift());
          else if (!model.some(({ key }) => key === step)) {
            queue.push(step, at);
            model.push({ key: step, value: at });
          }
          expect([queue.size, queue.keys()]).toEqual([model.length, model.map(({ key }) => key)]);
          for (const key of keys) {
            const found = model.find((entry) => entry.key === key);
            expect([queue.has(key), queue.get(key)]).toEqual([found !== undefined, found?.value]);
          }
        }
      }),
    );
  });
});
