import { VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { LogStream } from './log-stream.ts';

/** Simulates a file descriptor: takes up to `room` bytes a call, or fails with a code. */
class Descriptor {
  text = '';
  room = Number.POSITIVE_INFINITY;
  /** Error code when it has no room. */
  code: 'EAGAIN' | 'ENOSPC' | 'EPIPE' = 'EAGAIN';

  readonly write = (bytes: Uint8Array): number => {
    if (this.room === 0) throw Object.assign(new Error(this.code), { code: this.code });
    const taken = bytes.subarray(0, this.room);
    this.room -= taken.length;
    this.text += Buffer.from(taken).toString();
    return taken.length;
  };

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }
}

let descriptor: Descriptor;
let clock: VirtualClock;
let log: LogStream;

beforeEach(() => {
  descriptor = new Descriptor();
  clock = new VirtualClock();
  log = new LogStream({ write: descriptor.write, maxWaitingBytes: 30, clock });
});

const dropped = async (): Promise<number> =>
  Number(/^kapstan_log_lines_dropped_total (\d+)$/m.exec(await log.metrics())?.[1]);

const notice = (lines: string): unknown => expect.stringContaining(`"msg":"${lines}: the log could not be written"`);

describe('a log on a full disk', () => {
  it('drops lines and counts them; the next that can be written comes after the line that tells how many', async () => {
    log.write('a\n');
    Object.assign(descriptor, { room: 0, code: 'ENOSPC' });
    for (const line of ['b\n', 'c\n', 'd\n']) log.write(line);
    expect(await dropped()).toBe(3);
    descriptor.room = Number.POSITIVE_INFINITY;
    log.write('e\n');
    log.write('f\n');
    expect(descriptor.lines).toEqual(['a', notice('3 log lines were dropped'), 'e', 'f']);
    expect(JSON.parse(descriptor.lines[1] ?? '')).toMatchObject({ level: 40, dropped: 3 });
    expect(await dropped()).toBe(3);
  });

  it('tells how many soon after there is room, though nothing else is logged', async () => {
    Object.assign(descriptor, { room: 0, code: 'ENOSPC' });
    log.write('a\n');
    await clock.advance(1_000);
    descriptor.room = Number.POSITIVE_INFINITY;
    await clock.advance(1_000);
    expect(descriptor.lines).toEqual([notice('1 log line was dropped')]);
  });

  it('finishes a line of which a part was written, so that no line is torn', async () => {
    Object.assign(descriptor, { room: 3, code: 'ENOSPC' });
    log.write('abcdef\n');
    log.write('g\n');
    descriptor.room = Number.POSITIVE_INFINITY;
    log.write('h\n');
    expect(descriptor.lines).toEqual(['abcdef', notice('1 log line was dropped'), 'h']);
    expect(await dropped()).toBe(1);
  });

  it('finishes the line that tells of the gap too, and counts no line twice', async () => {
    Object.assign(descriptor, { room: 0, code: 'ENOSPC' });
    log.write('a\n');
    descriptor.room = 5;
    log.write('b\n');
    log.write('c\n');
    descriptor.room = Number.POSITIVE_INFINITY;
    log.write('d\n');
    const told = descriptor.lines.map((line) => (line.startsWith('{') ? JSON.parse(line).dropped : line));
    expect(told).toEqual([1, 2, 'd']);
    expect(await dropped()).toBe(3);
  });
});

describe('a log in a pipe', () => {
  it('waits as for a full one where nothing is taken without an error', async () => {
    let taken = 0;
    log = new LogStream({ write: (bytes) => (taken === 0 ? 0 : descriptor.write(bytes)), clock });
    log.write('line\n');
    expect(descriptor.text).toBe('');
    taken = 1;
    await clock.advance(20);
    expect(descriptor.text).toBe('line\n');
  });

  it('keeps lines for a reader that is behind, up to its bound, and tries again', async () => {
    descriptor.room = 0;
    const lines = Array.from({ length: 9 }, (_, n) => `line-${n}\n`);
    for (const line of lines) log.write(line);
    expect(await dropped()).toBe(5);
    descriptor.room = 10;
    await clock.advance(20);
    expect(descriptor.text).toBe('line-0\nlin');
    log.write('too late\n');
    descriptor.room = Number.POSITIVE_INFINITY;
    await clock.advance(20);
    log.write('after\n');
    const kept = ['line-0', 'line-1', 'line-2', 'line-3'];
    expect(descriptor.lines).toEqual([...kept, notice('6 log lines were dropped'), 'after']);
  });

  it('drops and counts everything after its reader is gone', async () => {
    Object.assign(descriptor, { room: 0, code: 'EPIPE' });
    for (let n = 0; n < 1_000; n++) log.write('line\n');
    await clock.advance(10_000);
    expect([descriptor.text, await dropped()]).toEqual(['', 1_000]);
  });

  it('tries once more at the end, and leaves no timer', async () => {
    descriptor.room = 0;
    log.write('a\n');
    descriptor.room = 2;
    log.close();
    expect(descriptor.text).toBe('a\n');
    descriptor.room = 0;
    log.write('b\n');
    log.close();
    descriptor.room = 100;
    await clock.advance(10_000);
    expect(descriptor.text).toBe('a\n');
  });
});
