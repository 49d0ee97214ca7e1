import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { VirtualClock } from '@kapstan/api/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readYamlBody } from '../../schema/yaml-body.ts';
import { YamlBodies } from './yaml-bodies.ts';

const never = new AbortController().signal;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
/** The padding exceeds the limit for reading in the turn. */
const padding = `# ${'x'.repeat(8 * 1024)}\n`;

/** Within the limits, but takes a second or more to read. */
const slowText = '- a\n'.repeat(99_000);

let clock: VirtualClock;
let bodies: YamlBodies;
let threads: Worker[];
const onThread = (thread: Worker): void => void threads.push(thread);
/** Returns the thread started in this turn; the process emits the event later. */
const started = async (): Promise<Worker> => {
  await new Promise<void>((resolve) => process.nextTick(resolve));
  return threads.at(-1) as Worker;
};
const read = async (text: string, signal = never) => (await bodies.prepare(bytes(text), signal))();

const open = (): void => {
  clock = new VirtualClock();
  bodies = new YamlBodies(clock);
  threads = [];
  process.on('worker', onThread);
};
const close = async (): Promise<void> => {
  process.off('worker', onThread);
  await bodies.close();
};

describe('YAML of a request', () => {
  beforeAll(open);
  afterAll(close);

  it.each([
    ['is short', 'a: 1'],
    ['is JSON', JSON.stringify({ a: 1, b: 'x'.repeat(9_000) })],
  ])('that %s is read in the turn that asks for it', async (_what, text) => {
    expect((await read(text)).document.value).toMatchObject({ a: 1 });
    expect(threads).toHaveLength(0);
  });

  it('that is long is read by a thread to the same document', async () => {
    const text = [
      'a: [yes, 0x10, 1.5, 12345678901234567890, null, "\\ud83d\\ude00", "ü"]',
      '__proto__: {constructor: 1}',
      'x: &x {k: v}',
      'y: [*x, *x]',
      'a: again',
      'a: [1.50, 12345678901234567890]',
    ].join('\n');
    const reading = await bodies.prepare(bytes(padding + text), never);
    expect(threads).toHaveLength(1);
    const body = reading();
    expect(body).toEqual(readYamlBody(padding + text));
    expect(body.duplicates).toEqual(['line 6: key "a" already set in map', 'line 7: key "a" already set in map']);
    expect(Object.keys(body.document.value as object)).toContain('__proto__');
    // Every reader gets its own value.
    expect(reading().document.value).not.toBe(body.document.value);
  });

  it.each([
    ['a: [', "yaml: line 2: did not find expected ',' or ']'"],
    [`${'['.repeat(10_001)}`, 'yaml: exceeded max depth'],
    [`a: &x [b]\n${'c: *y'}`, "yaml: unknown anchor 'y' referenced"],
  ])('that is long and none is refused as if it were short: %#', async (text, message) => {
    const reading = await bodies.prepare(bytes(padding + text), never);
    expect(reading).toThrow(message);
    await expect(read(`${padding}a: 1`)).resolves.toMatchObject({ document: { value: { a: 1 } } });
  });

  it('leaves the turns of the server to others while a thread reads it', async () => {
    const text = '- {name: a, value: [1, 2, 3]}\n'.repeat(1_000);
    let turns = 0;
    let isRead = false;
    const count = (): void => {
      turns++;
      if (!isRead) setImmediate(count);
    };
    setImmediate(count);
    const { document } = await read(text);
    isRead = true;
    expect(document.value).toHaveLength(1_000);
    expect(turns).toBeGreaterThan(10);
  });
});

describe('the thread', () => {
  beforeEach(open);
  afterEach(close);

  it('is one, and reads in turn what comes meanwhile', async () => {
    const read10 = Array.from({ length: 10 }, (_, index) => read(`${padding}a: ${index}`));
    const values = (await Promise.all(read10)).map(({ document }) => document.value);
    expect(values).toEqual(Array.from({ length: 10 }, (_, a) => ({ a })));
    expect(threads).toHaveLength(1);
  });

  it('ends when nothing came for ten seconds, and another one is there for what comes later', async () => {
    await read(`${padding}a: 1`);
    await clock.advance(9_999);
    await read(`${padding}a: 2`);
    await clock.advance(9_999);
    expect(threads).toHaveLength(1);
    const ended = once(threads[0] as Worker, 'exit');
    await clock.advance(1);
    await ended;
    expect((await read(`${padding}a: 3`)).document.value).toEqual({ a: 3 });
    expect(threads).toHaveLength(2);
  });

  it('does not read for who has gone', async () => {
    const gone = new AbortController();
    const early = read(`${padding}a: 1`);
    const waiting = read(`${padding}a: 2`, gone.signal);
    const late = read(`${padding}a: 3`);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect((await early).document.value).toEqual({ a: 1 });
    expect((await late).document.value).toEqual({ a: 3 });
    await expect(read(`${padding}a: 4`, gone.signal)).rejects.toThrow('gone');
  });

  it('is ended when who sent what it reads has gone, and another one reads the rest', async () => {
    const gone = new AbortController();
    const slow = read(slowText, gone.signal);
    const waiting = read(`${padding}a: 2`);
    const first = await started();
    gone.abort(new Error('gone'));
    await expect(slow).rejects.toThrow('gone');
    await clock.advance(1_000);
    expect((await waiting).document.value).toEqual({ a: 2 });
    expect(threads).toHaveLength(2);
    await bodies.close();
    expect(first.threadId).toBe(-1);
  });

  it('goes on for a moment with what nobody waits for, because another one costs its start', async () => {
    const gone = new AbortController();
    const left = read(`${padding}a: 1`, gone.signal);
    const waiting = read(`${padding}a: 2`);
    await started();
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect((await waiting).document.value).toEqual({ a: 2 });
    expect(threads).toHaveLength(1);
  });

  it('is ended when it reads one text for ten seconds, and another one reads the rest', async () => {
    const slow = read(slowText);
    const refused = expect(slow).rejects.toMatchObject({ code: 413, message: expect.stringContaining('10 s to read') });
    const waiting = read(`${padding}a: 2`);
    await clock.advance(10_000);
    await refused;
    expect((await waiting).document.value).toEqual({ a: 2 });
    expect(threads).toHaveLength(2);
  });

  it('reads the least of what waits first, and every other time what waited longest', async () => {
    const order: string[] = [];
    const note = (name: string, text: string) => read(text).then(() => order.push(name));
    await Promise.all([
      note('first', `${padding}a: 1`),
      note('large', `${padding}${padding}a: 1`),
      note('small', `${padding}a: 1`),
      note('small too', `${padding}a: 2`),
    ]);
    expect(order).toEqual(['first', 'small', 'large', 'small too']);
  });

  it('is not made any more when the server is closed', async () => {
    await bodies.close();
    await expect(read(`${padding}a: 1`)).rejects.toMatchObject({ code: 500 });
    expect(threads).toHaveLength(0);
  });

  it('has bounds: of tokens, and of its memory', async () => {
    const refused = expect(read('- a\n'.repeat(100_000))).rejects.toMatchObject({
      code: 413,
      message: expect.stringContaining('more than 500000 tokens of YAML'),
    });
    expect((await started()).resourceLimits).toMatchObject({ maxOldGenerationSizeMb: 512 });
    await refused;
  });

  it('that began to end when it was idle is gone too when the server is closed', async () => {
    await read(`${padding}a: 1`);
    await clock.advance(10_000);
    await bodies.close();
    expect(threads[0]?.threadId).toBe(-1);
  });

  it('that dies costs one request, and the next one starts another', async () => {
    const [first, second] = [read(`${padding}a: 1`), read(`${padding}a: 2`)];
    (await started()).emit('error', new Error('no stack left'));
    await expect(first).rejects.toMatchObject({ code: 500, message: expect.stringContaining('no stack left') });
    expect((await second).document.value).toEqual({ a: 2 });
    expect(threads).toHaveLength(2);
  });

  describe('that cannot be made', () => {
    const refusal = { code: 500, message: expect.stringContaining('EAGAIN') };
    let isLimited: boolean;
    beforeEach(() => {
      isLimited = false;
      bodies = new YamlBodies(clock, () => {
        if (isLimited) throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
        return new Worker(new URL('../../schema/yaml-thread.ts', import.meta.url));
      });
    });

    it('costs who asked, and is there for who asks when it can be made', async () => {
      isLimited = true;
      const both = [read(`${padding}a: 1`), read(`${padding}a: 2`)];
      await Promise.all(both.map((each) => expect(each).rejects.toMatchObject(refusal)));
      isLimited = false;
      expect((await read(`${padding}a: 3`)).document.value).toEqual({ a: 3 });
    });

    it.each<[string, (gone: AbortController) => unknown]>([
      [
        'whose sender has gone',
        (gone) => {
          gone.abort(new Error('gone'));
          return clock.advance(1_000);
        },
      ],
      ['whose time is over', () => clock.advance(10_000)],
      ['that died', async () => (await started()).emit('error', new Error('no stack left'))],
    ])('for one %s costs all who wait, and nobody later', async (_what, end) => {
      const gone = new AbortController();
      const slow = expect(read(slowText, gone.signal)).rejects.toThrow();
      const waiting = [read(`${padding}a: 1`), read(`${padding}a: 2`)];
      const refused = waiting.map((each) => expect(each).rejects.toMatchObject(refusal));
      await started();
      isLimited = true;
      await end(gone);
      await Promise.all([slow, ...refused]);
      isLimited = false;
      expect((await read(`${padding}a: 3`)).document.value).toEqual({ a: 3 });
    });
  });

  it('that runs out of memory says that the request is too large', async () => {
    const first = read(`${padding}a: 1`);
    (await started()).emit('error', Object.assign(new Error('memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }));
    await expect(first).rejects.toMatchObject({ code: 413 });
  });

  it('is gone when the server is closed, and who waits for it hears so', async () => {
    const waiting = [read(`${padding}a: 1`), read(`${padding}a: 2`)];
    const refused = Promise.all(waiting.map((each) => expect(each).rejects.toMatchObject({ code: 500 })));
    const ended = once(await started(), 'exit');
    await bodies.close();
    await Promise.all([ended, refused]);
  });
});
