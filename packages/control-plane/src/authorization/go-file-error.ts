// Texts of file errors in Go's words, which kube-apiserver shows for files that it cannot read.
import { getSystemErrorMap } from 'node:util';

/** Returns, for example, "stat /a: no such file or directory". */
export function goFileError(error: unknown, call: string, path: string): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  const known = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  if (known === undefined) return message;
  // Go opens a directory without complaint and then cannot read it.
  if (known.startsWith('illegal operation on a directory')) return `read ${path}: is a directory`;
  return `${call} ${path}: ${known}`;
}
