import { describe, expect, it } from 'vitest';
import { SerialEmitter } from './serial-emitter.ts';

describe('SerialEmitter (I4: no delivery inside a delivery)', () => {
  it('shows every listener the same order when one of them emits', () => {
    const emitter = new SerialEmitter<number>();
    const seen: string[] = [];
    emitter.subscribe((value) => {
      seen.push(`a${value}`);
      if (value === 1) emitter.emit(2);
    });
    emitter.subscribe((value) => seen.push(`b${value}`));
    emitter.emit(1);
    expect(seen).toEqual(['a1', 'b1', 'a2', 'b2']);
  });

  it('gives a listener what was emitted after it subscribed, also in the middle of a delivery', () => {
    const emitter = new SerialEmitter<number>();
    const late: number[] = [];
    emitter.subscribe((value) => {
      if (value !== 1) return;
      emitter.emit(2);
      emitter.subscribe((next) => late.push(next));
      emitter.emit(3);
    });
    emitter.emit(1);
    expect(late).toEqual([3]);
  });

  it('calls a listener no more once it left, also for values that wait', () => {
    const emitter = new SerialEmitter<number>();
    const seen: number[] = [];
    emitter.subscribe((value) => {
      if (value === 1) {
        emitter.emit(2);
        leave();
        leave();
      }
    });
    const leave = emitter.subscribe((value) => seen.push(value));
    emitter.emit(1);
    expect(seen).toEqual([]);
    expect(emitter.listenerCount).toBe(1);
  });

  it('isolates and reports a listener that throws (I8)', () => {
    const errors: unknown[] = [];
    const emitter = new SerialEmitter<number>({ onListenerError: (error, value) => errors.push([error, value]) });
    const seen: number[] = [];
    emitter.subscribe(() => {
      throw new Error('boom');
    });
    emitter.subscribe((value) => seen.push(value));
    emitter.emit(1);
    emitter.emit(2);
    expect(seen).toEqual([1, 2]);
    expect(errors).toEqual([
      [new Error('boom'), 1],
      [new Error('boom'), 2],
    ]);
  });
});
