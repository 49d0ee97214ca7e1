// Tests the parser with hand-written lines of a trace that rarely occur in a run of crash-images.test.ts.
import { expect, it } from 'vitest';
import { readTrace } from './system-calls.ts';

const hex = (text: string): string => [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16)}`).join('');
const openData = `7 openat(AT_FDCWD, "${hex('/d/data.mdb')}", O_RDWR|O_CREAT, 0600) = 20`;
const openSynced = `7 openat(AT_FDCWD, "${hex('/d/data.mdb')}", O_WRONLY|O_DSYNC) = 21`;
const openSaid = `7 openat(AT_FDCWD, "${hex('/d/said.txt')}", O_WRONLY) = 22`;

async function read(...lines: string[]): Promise<unknown[]> {
  const calls = await readTrace([openData, openSynced, openSaid, ...lines], '/d/data.mdb');
  return calls.map((call) => {
    if (call.type === 'write') return [call.offset, call.bytes.toString(), call.isSynchronous];
    return call.type === 'said' ? call.line : call.type;
  });
}

it('takes the written part of a short write, and goes on after it', async () => {
  const calls = await read(
    `7 pwrite64(20, "${hex('abcdef')}", 6, 4096) = 4`,
    `7 pwrite64(20, "${hex('ef')}", 2, 4100) = 2`,
    '7 lseek(20, 8192, SEEK_SET) = 8192',
    `7 writev(20, [{iov_base="${hex('gh')}", iov_len=2}, {iov_base="${hex('ij')}", iov_len=2}], 2) = 3`,
    `7 write(20, "${hex('j')}", 1) = 1`,
  );
  expect(calls).toEqual([
    [4_096, 'abcd', false],
    [4_100, 'ef', false],
    [8_192, 'ghi', false],
    [8_195, 'j', false],
  ]);
});

it('takes a short line as far as it was written', async () => {
  expect(await read(`7 write(22, "${hex('put a-1')}", 7) = 5`)).toEqual(['put a']);
});

it('joins a call that another thread interrupted, and leaves out one that failed', async () => {
  const calls = await read(
    `7 pwrite64(21, "${hex('abcd')}", 4, 0 <unfinished ...>`,
    `8 write(22, "${hex('x')}", 1) = 1`,
    '7 <... pwrite64 resumed>) = 2',
    `7 pwrite64(20, "${hex('no')}", 2, 0) = -1 ENOSPC (No space left on device)`,
    '7 fdatasync(20 <unfinished ...>',
    `8 write(22, "${hex('y')}", 1) = 1`,
    '7 <... fdatasync resumed>) = 0',
  );
  expect(calls).toEqual(['x', [0, 'ab', true], 'y', 'sync']);
});

it('refuses a string that strace cut, and a call that no image knows', async () => {
  await expect(read(`7 pwrite64(20, "${hex('ab')}"..., 9, 0) = 9`)).rejects.toThrow('strace cut a string');
  await expect(read('7 ftruncate(20, 0) = 0')).rejects.toThrow('a call that no crash image knows');
});
