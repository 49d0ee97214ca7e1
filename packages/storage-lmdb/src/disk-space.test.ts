import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isOutOfSpace } from './disk-space.ts';

const { EIO, ENOSPC, EDQUOT, EINVAL } = constants.errno;
const failed = (code: number | string): Error => Object.assign(new Error('failed'), { code });

it('believes the kernel when it says so', () => {
  const codes = [ENOSPC, EDQUOT, 'ENOSPC', 'EDQUOT'];
  expect(codes.filter((code) => !isOutOfSpace(failed(code), tmpdir(), 1))).toEqual([]);
});

it('knows an error of lmdb-js that has no code by its text', () => {
  const texts = ['No space left on device', 'Disk quota exceeded', 'No such file or directory'];
  expect(texts.map((text) => isOutOfSpace(new Error(text), tmpdir(), 1))).toEqual([true, true, false]);
});

it('takes an I/O error for a full disk only when there is too little room', () => {
  expect(isOutOfSpace(failed(EIO), tmpdir(), 1)).toBe(false);
  expect(isOutOfSpace(failed(EIO), tmpdir(), Number.MAX_SAFE_INTEGER)).toBe(true);
});

it('takes an I/O error for a failed disk when the file system does not answer', () => {
  expect(isOutOfSpace(failed(EIO), join(tmpdir(), 'kapstan-is-not-there'), Number.MAX_SAFE_INTEGER)).toBe(false);
});

it('takes no other failure for a full disk', () => {
  expect(isOutOfSpace(failed(EINVAL), tmpdir(), Number.MAX_SAFE_INTEGER)).toBe(false);
  expect(isOutOfSpace(new Error('MDB_PANIC'), tmpdir(), Number.MAX_SAFE_INTEGER)).toBe(false);
});
