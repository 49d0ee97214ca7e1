// LogStream writes log lines to a file, pipe, socket or terminal that may be full, broken or unread. Below
// console-logger.ts; serve.ts adds its counter to /metrics.
import { type Clock, systemClock } from '@kapstan/api';
import { counterFamily, formatMetrics, formatMicroTime } from '@kapstan/api/internal';

export interface LogStreamOptions {
  /** Writes some of the bytes and returns how many; throws the system's error. Must not block. */
  readonly write: (bytes: Uint8Array) => number;
  /** Maximum number of bytes that wait for a slow reader; later lines are dropped. Default 1 MiB. */
  readonly maxWaitingBytes?: number;
  readonly clock?: Clock;
}

const defaultMaxWaitingBytes = 1_048_576;
/** Milliseconds after which a full pipe is tried again. */
const fullPipeMs = 20;
/** Milliseconds after which a failed destination is tried again, unless a new line tries it sooner. */
const failureMs = 1_000;
/** Pino's number for the level "warn". */
const warnLevel = 40;

/**
 * Writing never throws and never blocks. While a pipe is full, lines wait in memory, up to a limit. Lines beyond the limit, and lines that
 * the system refuses (disk full, reader gone), are dropped and counted; one line reports the count as soon as writing works again.
 */
export class LogStream {
  readonly #options: Required<LogStreamOptions>;
  /** Lines that could not be written. */
  #dropped = 0;
  /** Whole lines; the system may already have written a part of the first one. */
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** Bytes of the first waiting line that are already written. A started line is always finished, so that none is torn. */
  #begun = 0;
  /** True while the pipe accepts nothing; a timer tries it again. */
  #isFull = false;
  /** Dropped lines that no notice reports yet. */
  #untold = 0;
  /** Dropped lines that the first waiting line, a notice, reports. */
  #told = 0;
  #cancelRetry: (() => void) | undefined;

  constructor(options: LogStreamOptions) {
    this.#options = { maxWaitingBytes: defaultMaxWaitingBytes, clock: systemClock, ...options };
  }

  /** Returns the metrics in Prometheus' text format. */
  metrics(): string {
    const help = 'Number of log lines that could not be written.';
    return formatMetrics([counterFamily('kapstan_log_lines_dropped_total', help, this.#dropped)]);
  }

  /** Accepts one line including its newline. */
  write(line: string): void {
    if (!this.#isFull) this.#drain();
    const bytes = Buffer.from(line);
    // No line may overtake the notice that reports a gap.
    const isBehindGap = this.#untold > 0;
    if (isBehindGap || this.#waitingBytes + bytes.length > this.#options.maxWaitingBytes) return this.#drop(1);
    this.#push(bytes);
    if (!this.#isFull) this.#drain();
  }

  /** Tries once more to write the waiting lines, and drops the rest. For the end of the process. */
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
    this.#dropped += lines;
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

  /** Drops all lines except one that was begun. */
  #dropWaiting(): void {
    const kept = this.#begun > 0 ? 1 : 0;
    let dropped = this.#waiting.length - kept;
    // A notice is not a log line: when it is dropped, the lines it reports count as unreported again.
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
