// AuditLogFile: a file that lines are added to, and that is put aside when it is large. Written by audit-log.ts. Names and rules of
// files that were put aside are those of lumberjack, which kube-apiserver uses.
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { dirname, join, parse } from 'node:path';
import { type Clock, formatMicroTime, parseTime } from '@kapstan/api';

export interface AuditLogFileOptions {
  /** Made when absent, readable by its owner alone; so is its directory. */
  readonly path: string;
  /** Size beyond which the file is put aside, in mebibytes. 0 = never. Default 100. */
  readonly maxMebibytes?: number;
  /** How many files that were put aside are kept. 0 = all. Default 100. */
  readonly maxBackups?: number;
  /** How long they are kept, in days. 0 = without end. Default 366. */
  readonly maxDays?: number;
  readonly clock: Clock;
}

const defaults = { maxMebibytes: 100, maxBackups: 100, maxDays: 366 } as const satisfies Partial<AuditLogFileOptions>;

const mebibyte = 1024 * 1024;
const dayMs = 86_400_000;

/** A pipe that is full says so, and nobody waits for its reader but who means to. Files do not know of it. */
const openFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
/** A full pipe is tried again after that. */
const fullPipeMs = 20;

interface OpenFile {
  readonly descriptor: number;
  size: number;
  /** Of a line that a pipe took in part: it stands before the next. */
  rest: Uint8Array;
}

export class AuditLogFile {
  readonly #options: Required<AuditLogFileOptions>;
  #open: OpenFile | undefined;
  #isClosed = false;

  /** Opens the file. Throws what the system says when that cannot be. */
  constructor(options: AuditLogFileOptions) {
    this.#options = { ...defaults, ...options };
    mkdirSync(dirname(options.path), { recursive: true, mode: 0o700 });
    this.#open = this.#openFile();
    this.#removeOld();
  }

  /** Adds whole lines; a pipe that takes them in part gets the rest with the next. Throws when that cannot be: nothing is added then. */
  append(lines: Uint8Array): void {
    const file = this.#room(lines.length);
    let at = 0;
    try {
      while (file.rest.length > 0) file.rest = file.rest.subarray(writeSync(file.descriptor, file.rest));
      while (at < lines.length) at += writeSync(file.descriptor, lines, at);
      file.size += lines.length;
    } catch (error) {
      if (!isPipeFull(error)) this.#giveUp(file);
      else if (at > 0) {
        file.rest = lines.subarray(at);
        return;
      }
      throw error;
    }
  }

  /** The same without waiting for the disk; a full pipe is waited for. One at a time. */
  async appendLater(lines: Uint8Array): Promise<void> {
    const file = this.#room(lines.length);
    try {
      for (let at = 0; at < lines.length; ) at += await this.#writeLater(file, lines, at);
      file.size += lines.length;
    } catch (error) {
      this.#giveUp(file);
      throw error;
    }
  }

  /** What comes later is refused. */
  close(): void {
    this.#isClosed = true;
    this.#release();
  }

  #release(): void {
    const file = this.#open;
    this.#open = undefined;
    if (file !== undefined) closeSync(file.descriptor);
  }

  async #writeLater({ descriptor }: OpenFile, lines: Uint8Array, at: number): Promise<number> {
    try {
      return await writeLater(descriptor, lines, at);
    } catch (error) {
      if (!isPipeFull(error)) throw error;
      await new Promise<void>((resolve) => void this.#options.clock.setBackgroundTimer(resolve, fullPipeMs));
      return 0;
    }
  }

  /** The file to write so many bytes to: a new one where the old one is full. */
  #room(bytes: number): OpenFile {
    const { maxMebibytes, path } = this.#options;
    const maxBytes = maxMebibytes === 0 ? Number.POSITIVE_INFINITY : maxMebibytes * mebibyte;
    if (bytes > maxBytes) throw new Error(`write length ${bytes} exceeds maximum file size ${maxBytes}`);
    if (this.#isClosed) throw new Error('the audit log is closed');
    this.#open ??= this.#openFile();
    if (this.#open.size === 0 || this.#open.size + bytes <= maxBytes) return this.#open;
    this.#release();
    renameSync(path, this.#backupPath());
    this.#open = this.#openFile();
    this.#removeOld();
    return this.#open;
  }

  #openFile(): OpenFile {
    const descriptor = openSync(this.#options.path, openFlags, 0o600);
    return { descriptor, size: fstatSync(descriptor).size, rest: new Uint8Array() };
  }

  /** What was begun is taken back, and the next line looks for the file anew. */
  #giveUp(file: OpenFile): void {
    this.#open = undefined;
    try {
      const status = fstatSync(file.descriptor);
      // A pipe has no length to be cut to; a file that somebody else has cut meanwhile must not grow.
      if (status.isFile()) ftruncateSync(file.descriptor, Math.min(status.size, file.size));
    } finally {
      closeSync(file.descriptor);
    }
  }

  /** "audit-2026-11-21T12-20-35.037.log" beside the file: the time when it was put aside. */
  #backupPath(): string {
    const { path, clock } = this.#options;
    const { dir, name, ext } = parse(path);
    for (let ms = clock.now(); ; ms++) {
      const backup = join(dir, `${name}-${formatMicroTime(ms).slice(0, 23).replaceAll(':', '-')}${ext}`);
      if (statSync(backup, { throwIfNoEntry: false }) === undefined) return backup;
    }
  }

  #removeOld(): void {
    const { path, maxBackups, maxDays, clock } = this.#options;
    const { dir } = parse(path);
    const oldestMs = maxDays === 0 ? Number.NEGATIVE_INFINITY : clock.now() - maxDays * dayMs;
    const backups = readdirSync(dir === '' ? '.' : dir)
      .map((file) => ({ file, ms: backupTime(path, file) }))
      .filter(({ ms }) => !Number.isNaN(ms))
      .sort((one, other) => other.ms - one.ms);
    const isKept = (ms: number, index: number): boolean => (maxBackups === 0 || index < maxBackups) && ms >= oldestMs;
    for (const [index, { file, ms }] of backups.entries()) {
      if (!isKept(ms, index)) unlinkSync(join(dir, file));
    }
  }
}

/** When a file was put aside, or NaN when it is none of this log. */
function backupTime(path: string, file: string): number {
  const { name, ext } = parse(path);
  if (!file.startsWith(`${name}-`) || !file.endsWith(ext)) return Number.NaN;
  const stamp = file.slice(name.length + 1, file.length - ext.length);
  const [, day, hour, minute, second] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp) ?? [];
  return day === undefined ? Number.NaN : parseTime(`${day}T${hour}:${minute}:${second}Z`);
}

function isPipeFull(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EAGAIN';
}

function writeLater(descriptor: number, bytes: Uint8Array, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, at, (error, written) => (error === null ? resolve(written) : reject(error)));
  });
}
