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
afterEach(async () => {
  await file?.close();
  file = undefined;
  rmSync(directory, { recursive: true });
});

const path = () => join(directory, 'logs', 'audit.log');
async function open(options: Partial<AuditLogFileOptions> = {}): Promise<AuditLogFile> {
  file = await AuditLogFile.open({ path: path(), clock, ...options });
  return file;
}
const line = (letter: string, bytes: number) => Buffer.from(`${letter.repeat(bytes - 1)}\n`);
/** Returns whether a descriptor of this process is still open on this file. */
const isOpenOn = (fd: string, file: string) => {
  const link = `/proc/self/fd/${fd}`;
  return lstatSync(link, { throwIfNoEntry: false }) !== undefined && readlinkSync(link) === file;
};
const names = () => readdirSync(join(directory, 'logs')).sort();

describe('the file of the audit log', () => {
  it('is made with its directory, for its owner alone, and added to', async () => {
    await (await open()).append(Buffer.from('one\n'));
    await file?.close();
    await (await open()).append(Buffer.from('two\n'));
    expect(readFileSync(path(), 'utf8')).toBe('one\ntwo\n');
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, 'logs')).mode & 0o777).toBe(0o700);
  });

  it('is put aside when it is full', async () => {
    await open({ maxMebibytes: 1 });
    await file?.append(line('a', mebibyte - 10));
    await file?.append(line('b', 10));
    expect(names()).toEqual(['audit.log']);
    await clock.advance(1234);
    await file?.append(line('c', 1));
    const [backup = '', ...rest] = names();
    expect(rest).toEqual(['audit.log']);
    expect(backup).toMatch(/^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/);
    expect(statSync(join(directory, 'logs', backup)).size).toBe(mebibyte);
    expect(readFileSync(path(), 'utf8')).toBe('\n');
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  it('loses none of two that are put aside at once', async () => {
    await open({ maxMebibytes: 1 });
    for (const letter of ['a', 'b', 'c']) await file?.append(line(letter, mebibyte));
    expect(names()).toHaveLength(3);
  });

  it('is put aside when it was full at the start', async () => {
    await (await open()).append(line('a', mebibyte));
    await file?.close();
    await (await open({ maxMebibytes: 1 })).append(line('b', 10));
    expect(names()).toHaveLength(2);
  });

  it('takes no line that is longer than a file', async () => {
    await open({ maxMebibytes: 1 });
    await expect(file?.append(line('a', mebibyte + 1))).rejects.toThrow('exceeds maximum file size');
    await file?.close();
    await (await open({ maxMebibytes: 0 })).append(line('a', 2 * mebibyte));
    expect(names()).toEqual(['audit.log']);
  });

  it('keeps so many that were put aside, and for so long, and nothing of others', async () => {
    await open();
    for (const day of ['01', '02', '03']) {
      writeFileSync(join(directory, 'logs', `audit-1969-12-${day}T00-00-00.000.log`), '');
      writeFileSync(join(directory, 'logs', `other-1969-12-${day}T00-00-00.000.log`), '');
    }
    writeFileSync(join(directory, 'logs', 'audit-notes.log'), '');
    await file?.close();
    const kept = () => names().filter((name) => name.startsWith('audit-1969'));
    await open({ maxBackups: 2, maxDays: 0 });
    expect(kept()).toEqual(['audit-1969-12-02T00-00-00.000.log', 'audit-1969-12-03T00-00-00.000.log']);
    await file?.close();
    const days = Math.floor(clock.now() / 86_400_000);
    await open({ maxBackups: 0, maxDays: days + 28 });
    expect(kept()).toEqual([]);
    expect(names().filter((name) => name.startsWith('other'))).toHaveLength(3);
    expect(names()).toContain('audit-notes.log');
  });

  it('says so when the disk is full, and leaves no descriptor open', async () => {
    const descriptors = () => readdirSync('/proc/self/fd').filter((fd) => isOpenOn(fd, '/dev/full')).length;
    await open({ path: '/dev/full' });
    for (let i = 0; i < 3; i++) await expect(file?.append(Buffer.from('lost\n'))).rejects.toThrow('ENOSPC');
    expect(descriptors()).toBe(0);
  });

  it('cannot be a directory', async () => {
    await expect(open({ path: directory })).rejects.toThrow('EISDIR');
    expect(existsSync(path())).toBe(false);
  });

  it('does not grow by what it failed to write after somebody has cut it', async () => {
    await open();
    await file?.append(Buffer.from('one\n'));
    truncateSync(path());
    // A write of no bytes does not even reach the system, so it counts as a refusal.
    const refused = { length: 4 } as Uint8Array;
    await expect(file?.append(refused)).rejects.toThrow('argument must be of type');
    await file?.append(Buffer.from('two\n'));
    expect(readFileSync(path(), 'utf8')).toBe('two\n');
  });

  it('takes nothing after it was closed', async () => {
    await (await open()).close();
    await expect(file?.append(Buffer.from('late\n'))).rejects.toThrow('the audit log is closed');
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

  /** Returns the contents of the pipe; "" when it is empty. */
  function read(): string {
    const bytes = Buffer.alloc(mebibyte);
    try {
      return bytes.subarray(0, readSync(reader, bytes)).toString();
    } catch (error) {
      expect(String(error)).toContain('EAGAIN');
      return '';
    }
  }

  it('is waited for when it is full, and gets all of what it takes in parts', async () => {
    await open({ path: pipe() });
    const long = String(line('a', 100_000));
    let isWritten = false;
    const written = file?.append(Buffer.from(long)).then(() => {
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

  it('cannot be opened while nobody reads it', async () => {
    closeSync(reader);
    await expect(open({ path: pipe() })).rejects.toThrow('ENXIO');
    reader = openSync(pipe(), constants.O_RDONLY | constants.O_NONBLOCK);
  });
});
