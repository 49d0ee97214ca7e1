import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditLogFile, type AuditLogFileOptions } from './log-file.ts';

const mebibyte = 1024 * 1024;
let directory: string;
let clock: VirtualClock;
let file: AuditLogFile | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kapstan-audit-'));
  clock = new VirtualClock();
});
afterEach(() => {
  file?.close();
  file = undefined;
  rmSync(directory, { recursive: true });
});

const path = () => join(directory, 'logs', 'audit.log');
function open(options: Partial<AuditLogFileOptions> = {}): AuditLogFile {
  file = new AuditLogFile({ path: path(), clock, ...options });
  return file;
}
const line = (letter: string, bytes: number) => Buffer.from(`${letter.repeat(bytes - 1)}\n`);
/** Whether a descriptor of this process, if it is still there, is of this file. */
const isOpenOn = (fd: string, file: string) => {
  const link = `/proc/self/fd/${fd}`;
  return lstatSync(link, { throwIfNoEntry: false }) !== undefined && readlinkSync(link) === file;
};
const names = () => readdirSync(join(directory, 'logs')).sort();

describe('the file of the audit log', () => {
  it('is made with its directory, for its owner alone, and added to', () => {
    open().append(Buffer.from('one\n'));
    file?.close();
    open().append(Buffer.from('two\n'));
    expect(readFileSync(path(), 'utf8')).toBe('one\ntwo\n');
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, 'logs')).mode & 0o777).toBe(0o700);
  });

  it.each(['append', 'appendLater'] as const)('is put aside when it is full: %s', async (append) => {
    open({ maxMebibytes: 1 });
    await file?.[append](line('a', mebibyte - 10));
    await file?.[append](line('b', 10));
    expect(names()).toEqual(['audit.log']);
    await clock.advance(1234);
    await file?.[append](line('c', 1));
    const [backup = '', ...rest] = names();
    expect(rest).toEqual(['audit.log']);
    expect(backup).toMatch(/^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/);
    expect(statSync(join(directory, 'logs', backup)).size).toBe(mebibyte);
    expect(readFileSync(path(), 'utf8')).toBe('\n');
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  it('loses none of two that are put aside at once', () => {
    open({ maxMebibytes: 1 });
    for (const letter of ['a', 'b', 'c']) file?.append(line(letter, mebibyte));
    expect(names()).toHaveLength(3);
  });

  it('is put aside when it was full at the start', () => {
    open().append(line('a', mebibyte));
    file?.close();
    open({ maxMebibytes: 1 }).append(line('b', 10));
    expect(names()).toHaveLength(2);
  });

  it('takes no line that is longer than a file', () => {
    expect(() => open({ maxMebibytes: 1 }).append(line('a', mebibyte + 1))).toThrow('exceeds maximum file size');
    open({ maxMebibytes: 0 }).append(line('a', 2 * mebibyte));
    expect(names()).toEqual(['audit.log']);
  });

  it('keeps so many that were put aside, and for so long, and nothing of others', async () => {
    open();
    for (const day of ['01', '02', '03']) {
      writeFileSync(join(directory, 'logs', `audit-1969-12-${day}T00-00-00.000.log`), '');
      writeFileSync(join(directory, 'logs', `other-1969-12-${day}T00-00-00.000.log`), '');
    }
    writeFileSync(join(directory, 'logs', 'audit-notes.log'), '');
    file?.close();
    const kept = () => names().filter((name) => name.startsWith('audit-1969'));
    open({ maxBackups: 2, maxDays: 0 });
    expect(kept()).toEqual(['audit-1969-12-02T00-00-00.000.log', 'audit-1969-12-03T00-00-00.000.log']);
    file?.close();
    const days = Math.floor(clock.now() / 86_400_000);
    open({ maxBackups: 0, maxDays: days + 28 });
    expect(kept()).toEqual([]);
    expect(names().filter((name) => name.startsWith('other'))).toHaveLength(3);
    expect(names()).toContain('audit-notes.log');
  });

  it.each(['append', 'appendLater'] as const)(
    'says so when the disk is full, and leaves no descriptor open: %s',
    async (append) => {
      const descriptors = () => readdirSync('/proc/self/fd').filter((fd) => isOpenOn(fd, '/dev/full')).length;
      open({ path: '/dev/full' });
      const write = async () => file?.[append](Buffer.from('lost\n'));
      for (let i = 0; i < 3; i++) await expect(write()).rejects.toThrow('ENOSPC');
      expect(descriptors()).toBe(0);
    },
  );

  it('cannot be a directory', () => {
    expect(() => open({ path: directory })).toThrow('EISDIR');
    expect(existsSync(path())).toBe(false);
  });

  it.each(['append', 'appendLater'] as const)(
    'does not grow by what it failed to write after somebody has cut it: %s',
    async (append) => {
      open();
      await file?.[append](Buffer.from('one\n'));
      truncateSync(path());
      // No bytes: the system is not even asked, as if it had refused them.
      const refused = { length: 4 } as Uint8Array;
      await expect((async () => file?.[append](refused))()).rejects.toThrow('argument must be of type');
      await file?.[append](Buffer.from('two\n'));
      expect(readFileSync(path(), 'utf8')).toBe('two\n');
    },
  );

  it.each(['append', 'appendLater'] as const)('takes nothing after it was closed: %s', async (append) => {
    open().close();
    await expect((async () => file?.[append](Buffer.from('late\n')))()).rejects.toThrow('the audit log is closed');
    expect(readFileSync(path(), 'utf8')).toBe('');
  });
});

describe('a pipe as the file of the audit log', () => {
  let reader = -1;
  const pipe = () => join(directory, 'pipe');
  beforeEach(() => {
    execFileSync('mkfifo', [pipe()]);
    reader = openSync(pipe(), constants.O_RDONLY | constants.O_NONBLOCK);
  });
  afterEach(() => closeSync(reader));

  /** Whether there was nothing to read, or no room. */
  function refuses(act: () => void): boolean {
    try {
      act();
      return false;
    } catch (error) {
      expect(String(error)).toContain('EAGAIN');
      return true;
    }
  }

  /** What is in the pipe. */
  function read(): string {
    const bytes = Buffer.alloc(mebibyte);
    let length = 0;
    refuses(() => {
      length = readSync(reader, bytes);
    });
    return bytes.subarray(0, length).toString();
  }

  it('loses lines when it is full, and stops nothing', () => {
    open({ path: pipe() });
    let taken = 0;
    const fill = () => {
      for (; taken < 10_000; taken++) file?.append(line('a', 4096));
    };
    expect(fill).toThrow('EAGAIN');
    expect(() => file?.append(line('b', 10))).toThrow('EAGAIN');
    expect(read()).toHaveLength(taken * 4096);
    file?.append(line('c', 10));
    expect(read()).toBe(String(line('c', 10)));
  });

  it('gets the rest of a line that it took in part before the next', () => {
    const long = String(line('a', 100_000));
    open({ path: pipe() }).append(Buffer.from(long));
    expect(() => file?.append(line('b', 10))).toThrow('EAGAIN');
    let text = '';
    const next = () => file?.append(line('c', 10));
    // As often as the pipe is smaller than the rest.
    do text += read();
    while (refuses(next));
    expect(text + read() === long + line('c', 10)).toBe(true);
  });

  it('is waited for in mode batch', async () => {
    open({ path: pipe() });
    const long = String(line('a', 100_000));
    let isWritten = false;
    const written = file?.appendLater(Buffer.from(long)).then(() => {
      isWritten = true;
    });
    let text = '';
    while (!isWritten) {
      while (clock.pendingTimers === 0 && !isWritten) await new Promise((resolve) => setImmediate(resolve));
      text += read();
      await clock.advance(20);
    }
    await written;
    expect(text + read() === long).toBe(true);
  });

  it('cannot be opened while nobody reads it', () => {
    closeSync(reader);
    expect(() => open({ path: pipe() })).toThrow('ENXIO');
    reader = openSync(pipe(), constants.O_RDONLY | constants.O_NONBLOCK);
  });
});
