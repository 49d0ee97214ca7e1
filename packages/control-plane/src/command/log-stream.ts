// LogStream: writes the lines of the log to a file, a pipe, a socket or a terminal that may be full, broken or unread. Below
// console-logger.ts; serve.ts shows its count in /metrics.

import { type Clock, systemClock } from '@kapstan/api';
import { formatMicroTime } from '@kapstan/api/internal';
import { Counter, Registry } from 'prom-client';

export interface LogStreamOptions {
  /** Writes some of the bytes and returns how many; throws what the system says. Must not wait. */
  readonly write: (bytes: Uint8Array) => number;
  /** Bytes of lines that may wait for a reader that is behind; later lines are dropped. Default 1 MiB. */
  readonly maxWaitingBytes?: number;
  readonly clock?: Clock;
}

const defaultMaxWaitingBytes = 1_048_576;
/** A full pipe is tried again after this time. */
const fullPipeMs = 20;
/** A destination that failed is tried again after this time, if no line tries it before. */
const failureMs = 1_000;
/** The level "warn" in pino's numbers. */
const warnLevel = 40;

/**
 * Writing never throws and never waits. Lines wait in memory for a pipe that is full, up to a bound. Lines beyond the bound, and
 * lines that the system refuses (the disk is full, the reader is gone), are dropped and counted; one line tells how many as
 * soon as writing works again.
 */
export class LogStream {
  readonly metrics: Registry = new Registry();
  readonly #options: Required<LogStreamOptions>;
  readonly #counter: Counter;
  /** Whole lines. The system may have taken a part of the first. */
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** Bytes of the first waiting line that are written. A line that was begun is always finished, so that none is torn. */
  #begun = 0;
  /** The pipe takes nothing now; a timer tries it again. */
  #isFull = false;
  /** Dropped lines that no line has told of. */
  #untold = 0;
  /** Dropped lines that the first waiting line tells of. */
  #told = 0;
  #cancelRetry: (() => void) | undefined;

  constructor(options: LogStreamOptions) {
    this.#options = { maxWaitingBytes: defaultMaxWaitingBytes, clock: systemClock, ...options };
    this.#counter = new Counter({
      name: 'kapstan_log_lines_dropped_total',
      help: 'Lines of the log that could not be written.',
      registers: [this.metrics],
    });
  }

  /** Takes one line with its newline. */
  write(line: string): void {
    if (!this.#isFull) this.#drain();
    const bytes = Buffer.from(line);
    // Nothing overtakes the line that tells of a gap.
    const isBehindGap = this.#untold > 0;
    if (isBehindGap || this.#waitingBytes + bytes.length > this.#options.maxWaitingBytes) return this.#drop(1);
    this.#push(bytes);
    if (!this.#isFull) this.#drain();
  }

  /** Tries once more to write what waits, and gives up the rest. For the end of the process. */
  close(): void {
    this.#drain();
    this.#cancelRetry?.();
  }

  #push(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #drop(lines: number): void {
    this.#untold += lines;
    this.#counter.inc(lines);
  }

  #drain(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#isFull = false;
    try {
      this.#writeWaiting();
      if (this.#untold === 0) return;
      this.#pushNotice();
      this.#writeWaiting();
    } catch (error) {
      this.#fail((error as NodeJS.ErrnoException).code === 'EAGAIN');
    }
  }

  #writeWaiting(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const taken = this.#options.write(first.subarray(this.#begun));
      if (taken === 0) throw Object.assign(new Error('nothing was taken'), { code: 'EAGAIN' });
      this.#begun += taken;
      if (this.#begun < first.length) continue;
      this.#waiting.shift();
      this.#waitingBytes -= first.length;
      this.#begun = 0;
      this.#told = 0;
    }
  }

  #pushNotice(): void {
    const time = formatMicroTime(this.#options.clock.now());
    const lines = this.#untold === 1 ? '1 log line was dropped' : `${this.#untold} log lines were dropped`;
    this.#told = this.#untold;
    this.#untold = 0;
    const notice = { level: warnLevel, time, dropped: this.#told, msg: `${lines}: the log could not be written` };
    this.#push(Buffer.from(`${JSON.stringify(notice)}\n`));
  }

  #fail(isFull: boolean): void {
    this.#isFull = isFull;
    if (!isFull) this.#dropWaiting();
    const { clock } = this.#options;
    this.#cancelRetry = clock.setBackgroundTimer(() => this.#drain(), isFull ? fullPipeMs : failureMs);
  }

  /** Drops all but a line that was begun. */
  #dropWaiting(): void {
    const kept = this.#begun > 0 ? 1 : 0;
    let dropped = this.#waiting.length - kept;
    // A notice is no line of the log: the lines that it tells of are untold again.
    if (kept === 0 && this.#told > 0) {
      dropped -= 1;
      this.#untold += this.#told;
      this.#told = 0;
    }
    this.#waiting = this.#waiting.slice(0, kept);
    this.#waitingBytes = this.#waiting[0]?.length ?? 0;
    if (dropped > 0) this.#drop(dropped);
  }
}
