import { deepCopy, ExactNumber } from '@kapstan/api';
import { pod, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { changedPath } from './changed-path.ts';
import { MutationDetector } from './mutation-detector.ts';

describe('changedPath', () => {
  const text = '12345678901234567890';
  it.each<[string, unknown, unknown, string | undefined]>([
    ['nothing', { a: [1, { b: null }] }, { a: [1, { b: null }] }, undefined],
    ['the order of members', { a: 1, b: 2 }, { b: 2, a: 1 }, undefined],
    ['a member that became undefined, and was none', { a: 1 }, { a: 1, b: undefined }, undefined],
    ['a member', { spec: { nodeName: 'a' } }, { spec: { nodeName: 'b' } }, '.spec.nodeName'],
    ['a member that came', { data: {} }, { data: { password: 'x' } }, '.data.password'],
    ['a member that went', { data: { password: 'x' } }, { data: {} }, '.data.password'],
    ['an item', { a: [{ b: 1 }, { b: 2 }] }, { a: [{ b: 1 }, { b: 3 }] }, '.a[1].b'],
    ['an item that came', { a: [1] }, { a: [1, 2] }, '.a[1]'],
    ['a key of more than letters', { l: { 'a.b/c': '1' } }, { l: { 'a.b/c': '2' } }, '.l["a.b/c"]'],
    ['a key of the prototype', JSON.parse('{"__proto__":1}'), {}, '.__proto__'],
    ['an array for an object', { a: [] }, { a: {} }, '.a'],
    ['a leaf for an object', { a: { b: 1 } }, { a: 'x' }, '.a'],
    ['an exact number that is the same', { n: new ExactNumber(text) }, { n: new ExactNumber(text) }, undefined],
    ['an exact number', { n: new ExactNumber(text) }, { n: new ExactNumber(`${text}1`) }, '.n'],
    ['all of it', 1, 2, ''],
  ])('sees %s', (_name, before, after, path) => {
    expect(changedPath(before, after)).toBe(path);
  });
});

describe('MutationDetector in mode compare', () => {
  function create(onMutation?: (detector: MutationDetector) => void) {
    const clock = new VirtualClock();
    const messages: string[] = [];
    const detector = new MutationDetector({
      name: 'secrets',
      mode: 'compare',
      clock,
      onMutation: ({ message }) => {
        messages.push(message);
        onMutation?.(detector);
      },
    });
    detector.start();
    return { clock, messages, detector };
  }

  it('names the object and where it changed, and nothing of what it holds', async () => {
    const { clock, messages, detector } = create();
    const secret: TestPod = { ...pod({ name: 'a' }), kind: 'Secret', spec: { nodeName: 'hunter2' } };
    detector.watch(secret);
    await clock.advance(1000);
    expect(messages).toEqual([]);
    secret.spec = { nodeName: 'hunter3' };
    await clock.advance(5000);
    expect(messages).toEqual(['cache secrets modified: Secret default/a changed at .spec.nodeName']);
    detector.close();
  });

  it('names the object as it was, whatever became of its name', async () => {
    const { clock, messages, detector } = create();
    const object: TestPod = deepCopy(pod({ name: 'a' }));
    delete (object as { kind?: string }).kind;
    detector.watch(object);
    object.metadata = {};
    await clock.advance(1000);
    expect(messages).toEqual([expect.stringMatching(/^cache secrets modified: default\/a changed at \.metadata\./)]);
    detector.close();
  });

  it.each([
    [119_000, 1],
    [121_000, 1],
    [239_000, 1],
    [241_000, 0],
  ])('sees a change after %i ms, up to four minutes: %i', async (ms, count) => {
    const { clock, messages, detector } = create();
    const object: TestPod = deepCopy(pod({ name: 'a' }));
    detector.watch(object);
    await clock.advance(ms);
    object.spec = { nodeName: 'x' };
    await clock.advance(1000);
    expect(messages).toHaveLength(count);
    detector.close();
  });

  it('ends for good, also when it is closed by whom it tells (I9)', async () => {
    const { clock, messages, detector } = create((each) => each.close());
    const object: TestPod = deepCopy(pod({ name: 'a' }));
    detector.watch(object);
    object.spec = { nodeName: 'x' };
    await clock.advance(1000);
    expect([messages.length, clock.pendingTimers]).toEqual([1, 0]);
    detector.watch(object);
    detector.close();
  });
});
