// The signals that stop a container, of the system it runs on. Source: pkg/apis/core/validation validateStopSignal.
import type { Field } from '../../validation/field.ts';

const offsets = (name: string, count: number, sign: string): string[] =>
  Array.from({ length: count }, (_, index) => `${name}${sign}${index + 1}`);

const plain =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX';

const linux = [
  ...plain.split(' ').map((name) => `SIG${name}`),
  ...offsets('SIGRTMIN', 15, '+'),
  ...offsets('SIGRTMAX', 14, '-'),
].sort();
const windows = ['SIGKILL', 'SIGTERM'];

export function validateStopSignal(at: Field, signal: string, os: string | undefined): void {
  if (os === undefined) return at.forbidden('may not be set for containers with empty `spec.os.name`');
  if (os === 'windows') at.oneOf(signal, windows);
  else if (os === 'linux') at.oneOf(signal, linux);
}
