// Reads from strace a program's operations on one file and its output to another. Used by crash-images.ts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * One system call on the data file, or one acknowledgement, with the lines of the trace at which it began and ended.
 */
export type SystemCall = { readonly began: number; readonly ended: number } & (
  | { readonly type: 'write'; readonly offset: number; readonly bytes: Buffer; readonly isSynchronous: boolean }
  | { readonly type: 'sync' }
  | { readonly type: 'made' }
  | { readonly type: 'said'; readonly line: string }
);

export interface TraceOptions {
  /** Program and arguments. */
  readonly command: readonly [string, ...string[]];
  readonly dataFile: string;
  /** File that is removed when the store is made. */
  readonly markFile: string;
  readonly saidFile: string;
  readonly traceFile: string;
}

const calls = 'openat,/^unlink,lseek,pwrite64,pwritev,pwritev2,write,writev,fsync,fdatasync,ftruncate,msync,mmap';

/** Runs a program under strace. Throws for a call that the crash images do not handle but would have to. */
export async function traceSystemCalls(options: TraceOptions): Promise<SystemCall[]> {
  const { command, dataFile, markFile, saidFile, traceFile } = options;
  const filters = [
    '-f',
    '-xx',
    '-s',
    '1000000',
    '-e',
    `trace=${calls}`,
    '-P',
    dataFile,
    '-P',
    markFile,
    '-P',
    saidFile,
  ];
  const child = spawn('strace', [...filters, '-o', traceFile, ...command], { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  child.stderr.on('data', (chunk) => {
    complaints += chunk;
  });
  const [code, signal] = await once(child, 'exit');
  if (signal !== 'SIGKILL') throw new Error(`the program ended with ${code ?? signal}: ${complaints}`);
  return readTrace(createInterface({ input: createReadStream(traceFile) }), dataFile);
}

/** Reads the calls from the lines that strace wrote with the filters above. */
export async function readTrace(
  lines: AsyncIterable<string> | Iterable<string>,
  dataFile: string,
): Promise<SystemCall[]> {
  const reader = new TraceReader(dataFile);
  for await (const line of lines) reader.read(line);
  return reader.calls;
}

interface Unfinished {
  readonly began: number;
  readonly text: string;
}

class TraceReader {
  readonly calls: SystemCall[] = [];
  readonly #dataFile: string;
  readonly #unfinished: Map<string, Unfinished> = new Map();
  /** Descriptor → facts about its file. */
  readonly #open: Map<string, { readonly isData: boolean; readonly isSynchronous: boolean; position: number }> =
    new Map();
  #line = 0;

  constructor(dataFile: string) {
    this.#dataFile = dataFile;
  }

  read(line: string): void {
    this.#line += 1;
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/s.exec(line) ?? [];
    if (text.endsWith(' <unfinished ...>')) {
      const begun = text.slice(0, -' <unfinished ...>'.length);
      this.#unfinished.set(thread, { began: this.#line, text: begun });
      return;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/s.exec(text);
    const before = resumed === null ? undefined : this.#unfinished.get(thread);
    this.#take(`${before?.text ?? ''}${resumed?.[1] ?? text}`, before?.began ?? this.#line);
  }

  #take(text: string, began: number): void {
    const [, name = '', args = '', result = ''] = /^(\w+)\((.*)\) += (-?\w+)/s.exec(text) ?? [];
    if (name === '' || result.startsWith('-')) return;
    const [descriptor = ''] = args.split(',', 1);
    const file = this.#open.get(descriptor);
    const times = { began, ended: this.#line };
    if (name === 'openat') this.#onOpen(args, result);
    else if (name.startsWith('unlink')) this.calls.push({ ...times, type: 'made' });
    else if (name === 'mmap') refuseWritableMap(args);
    else if (file === undefined) return;
    else if (name === 'lseek') file.position = Number(result);
    else if (name === 'fsync' || name === 'fdatasync') this.calls.push({ ...times, type: 'sync' });
    else if (!/^p?writev?(64)?$/.test(name)) throw new Error(`a call that no crash image knows: ${text.slice(0, 200)}`);
    else {
      // A short write writes less than it was given.
      const bytes = bytesIn(args).subarray(0, Number(result));
      if (!file.isData) this.calls.push({ ...times, type: 'said', line: bytes.toString() });
      else this.#onWrite({ name, args, bytes, file, times });
    }
  }

  #onOpen(args: string, result: string): void {
    const path = Buffer.from(bytesIn(args)).toString();
    const isData = path === this.#dataFile;
    this.#open.set(result, { isData, isSynchronous: /O_D?SYNC/.test(args), position: 0 });
  }

  #onWrite(call: {
    readonly name: string;
    readonly args: string;
    readonly bytes: Buffer;
    readonly file: { readonly isSynchronous: boolean; position: number };
    readonly times: { readonly began: number; readonly ended: number };
  }): void {
    const { name, args, bytes, file, times } = call;
    const offset = name.startsWith('p') ? Number(/, (\d+)$/.exec(args)?.[1]) : file.position;
    if (!name.startsWith('p')) file.position += bytes.length;
    this.calls.push({ ...times, type: 'write', offset, bytes, isSynchronous: file.isSynchronous });
  }
}

/** Returns the strings of a call, joined. Each byte is written as \xnn. */
function bytesIn(args: string): Buffer {
  const texts = [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g)];
  if (texts.some(([, , isCut]) => isCut !== undefined)) throw new Error('strace cut a string');
  return Buffer.from(texts.map(([, text]) => text?.replaceAll('\\x', '')).join(''), 'hex');
}

function refuseWritableMap(args: string): void {
  if (/PROT_WRITE/.test(args) && /MAP_SHARED/.test(args)) throw new Error('the data file is written through a map');
}
