// AuditLogFile appends lines to a file and renames it when it is large. Used by control-plane/src/access/audit.ts. The names and rules of
// the backups follow lumberjack, which kube-apiserver uses.
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { type Clock, parseTime } from '@kapstan/api';
import { formatMicroTime } from '@kapstan/api/internal';

export interface AuditLogFileOptions {
  /** Created if absent, with its directory; only the owner can read them. */
  readonly path: string;
  /** Size at which the file becomes a backup, in mebibytes. 0 = never. Default 100. */
  readonly maxMebibytes?: number | undefined;
  /** Number of backups kept. 0 = all. Default 100. */
  readonly maxBackups?: number | undefined;
  /** Number of days for which backups are kept. 0 = forever. Default 366. */
  readonly maxDays?: number | undefined;
  readonly clock: Clock;
}

const defaults = { maxMebibytes: 100, maxBackups: 100, maxDays: 366 } as const satisfies Partial<AuditLogFileOptions>;

const mebibyte = 1024 * 1024;
const dayMs = 86_400_000;

/** With O_NONBLOCK a full pipe returns an error, so that no thread waits for its reader. It has no effect on files. */
const openFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
/** A full pipe is tried again after this time. */
const fullPipeMs = 20;

interface OpenFile {
  readonly handle: FileHandle;
  size: number;
}

/** The audit log in a file that is rotated by size, with limits on number and age of the old files. */
export class AuditLogFile {
  readonly #options: { readonly [K in keyof AuditLogFileOptions]-?: Exclude<AuditLogFileOptions[K], undefined> };
  #open: OpenFile | undefined;
  #isClosed = false;

  private constructor({ path, clock, maxMebibytes, maxBackups, maxDays }: AuditLogFileOptions) {
    this.#options = {
      path,
      clock,
      maxMebibytes: maxMebibytes ?? defaults.maxMebibytes,
      maxBackups: maxBackups ?? defaults.maxBackups,
      maxDays: maxDays ?? defaults.maxDays,
    };
  }

  /** Opens the file. Rejects with the system's error when it cannot. */
  static async open(options: AuditLogFileOptions): Promise<AuditLogFile> {
    await mkdir(dirname(options.path), { recursive: true, mode: 0o700 });
    const file = new AuditLogFile(options);
    file.#open = await file.#openFile();
    await file.#removeOld();
    return file;
  }

  /**
   * Appends whole lines without blocking others, and waits while a pipe is full. Rejects when it cannot write, and has
   * then added nothing. Call it once at a time.
   */
  async append(lines: Uint8Array): Promise<void> {
    const file = await this.#room(lines.length);
    try {
      for (let at = 0; at < lines.length; ) at += await this.#write(file, lines, at);
      file.size += lines.length;
    } catch (error) {
      await this.#giveUp(file);
      throw error;
    }
  }

  /** Closes the file; later lines are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#release();
  }

  async #release(): Promise<void> {
    const file = this.#open;
    this.#open = undefined;
    await file?.handle.close();
  }

  async #write({ handle }: OpenFile, lines: Uint8Array, at: number): Promise<number> {
    try {
      return (await handle.write(lines, at)).bytesWritten;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await new Promise<void>((resolve) => void this.#options.clock.setBackgroundTimer(resolve, fullPipeMs));
      return 0;
    }
  }

  /** Returns a file with room for the bytes: a new one if the present one is full. */
  async #room(bytes: number): Promise<OpenFile> {
    const { maxMebibytes, path } = this.#options;
    const maxBytes = maxMebibytes === 0 ? Number.POSITIVE_INFINITY : maxMebibytes * mebibyte;
    if (bytes > maxBytes) throw new Error(`write length ${bytes} exceeds maximum file size ${maxBytes}`);
    if (this.#isClosed) throw new Error('the audit log is closed');
    this.#open ??= await this.#openFile();
    if (this.#open.size === 0 || this.#open.size + bytes <= maxBytes) return this.#open;
    await this.#release();
    await rename(path, await this.#backupPath());
    const file = await this.#openFile();
    this.#open = file;
    await this.#removeOld();
    return file;
  }

  async #openFile(): Promise<OpenFile> {
    const handle = await open(this.#options.path, openFlags, 0o600);
    return { handle, size: (await handle.stat()).size };
  }

  /** Takes back a partial write and closes the file, which the next write opens again. */
  async #giveUp(file: OpenFile): Promise<void> {
    this.#open = undefined;
    try {
      const status = await file.handle.stat();
      // A pipe cannot be truncated, and a file that somebody else has truncated must not grow again.
      if (status.isFile()) await file.handle.truncate(Math.min(status.size, file.size));
    } finally {
      await file.handle.close();
    }
  }

  /** Returns the name of a backup, with its time: "audit-2026-11-21T12-20-35.037.log" in the folder of the file. */
  async #backupPath(): Promise<string> {
    const { path, clock } = this.#options;
    const { dir, name, ext } = parse(path);
    for (let ms = clock.now(); ; ms++) {
      const backup = join(dir, `${name}-${formatMicroTime(ms).slice(0, 23).replaceAll(':', '-')}${ext}`);
      if (!(await isThere(backup))) return backup;
    }
  }

  async #removeOld(): Promise<void> {
    const { path, maxBackups, maxDays, clock } = this.#options;
    const { dir } = parse(path);
    const oldestMs = maxDays === 0 ? Number.NEGATIVE_INFINITY : clock.now() - maxDays * dayMs;
    const backups = (await readdir(dir === '' ? '.' : dir))
      .map((file) => ({ file, ms: backupTime(path, file) }))
      .filter(({ ms }) => !Number.isNaN(ms))
      .sort((one, other) => other.ms - one.ms);
    const isKept = (ms: number, index: number): boolean => (maxBackups === 0 || index < maxBackups) && ms >= oldestMs;
    for (const [index, { file, ms }] of backups.entries()) {
      if (!isKept(ms, index)) await unlink(join(dir, file));
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Returns the time of a backup, or NaN for other files. */
function backupTime(path: string, file: string): number {
  const { name, ext } = parse(path);
  if (!file.startsWith(`${name}-`) || !file.endsWith(ext)) return Number.NaN;
  const stamp = file.slice(name.length + 1, file.length - ext.length);
  const [, day, hour, minute, second] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp) ?? [];
  return day === undefined ? Number.NaN : parseTime(`${day}T${hour}:${minute}:${second}Z`);
}
