// FollowedFile checks a file periodically and passes on changes. Used for the configurations of authentication, authorization and
// encryption, and for certificates. A file that cannot be used is logged and counted, and the previous content stays in use.
import type { CancelTimer, Clock, Logger } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import { contentHash } from './reload-metrics.ts';

/** Clock, log and metrics of followed configuration files. */
export interface FollowedFilePorts {
  /** The name of this server, which metrics show as a hash. */
  readonly serverId: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Counts the outcomes of changed files. */
export interface ReloadCounts {
  /** `hash`: hash of the text now in use. */
  succeeded(hash: string): void;
  failed(): void;
}

export interface FollowedFileOptions {
  /** Name of the file's content in log lines: "encryption configuration". */
  readonly what: string;
  readonly metrics: ReloadCounts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Interval between checks of the file, in milliseconds. */
  readonly pollMs: number;
  /** Reads the file. A failure is tried again. */
  readonly read: () => Promise<string>;
  /** The text that is in use at the start. */
  readonly text: string;
}

/** The steps that process a changed file. */
export interface FileSteps<T> {
  /** Checks the text. One that is refused is not looked at again until the file changes. */
  readonly parse: (text: string) => T | Promise<T>;
  /**
   * Applies it. Resolves to false if that changes nothing. A failure is tried again, because its cause may lie elsewhere.
   */
  readonly apply: (parsed: T) => Promise<boolean>;
}

export class FollowedFile {
  readonly #options: FollowedFileOptions;
  /**
   * Hash of the text that is in use or that can never be used. The text itself is not kept, because it may hold keys.
   */
  #settled: string;
  #lastTried: string;
  #lastProblem = '';
  #cancel: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(options: FollowedFileOptions) {
    this.#options = options;
    this.#settled = contentHash(options.text);
    this.#lastTried = this.#settled;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Begins to look at the file. */
  follow<T>(steps: FileSteps<T>): void {
    if (this.#isClosed) return;
    const look = (): void => void this.#look(steps).then(() => this.follow(steps));
    this.#cancel = this.#options.clock.setBackgroundTimer(look, this.#options.pollMs);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  async #look<T>(steps: FileSteps<T>): Promise<void> {
    try {
      await this.#reload(await this.#options.read(), steps);
      this.#lastProblem = '';
    } catch (error) {
      if (!this.#isClosed) this.#complain(messageOf(error));
    }
  }

  async #reload<T>(text: string, { parse, apply }: FileSteps<T>): Promise<void> {
    const { what, metrics, logger } = this.#options;
    const hash = contentHash(text);
    if (hash === this.#settled) return;
    if (hash !== this.#lastTried) this.#lastProblem = '';
    this.#lastTried = hash;
    const before = this.#settled;
    this.#settled = hash;
    const parsed = await parse(text);
    this.#settled = before;
    const isChange = await apply(parsed);
    if (this.#isClosed) return;
    this.#settled = hash;
    if (!isChange) return;
    metrics.succeeded(hash);
    logger.info(`reloaded the ${what}`);
  }

  /** Counts each failure, but logs one that stays only once. */
  #complain(problem: string): void {
    const { what, metrics, logger } = this.#options;
    metrics.failed();
    if (problem === this.#lastProblem) return;
    this.#lastProblem = problem;
    logger.error(`could not reload the ${what}; the old one stays in use`, { error: problem });
  }
}
