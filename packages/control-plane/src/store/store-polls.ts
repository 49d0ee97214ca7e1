// StorePolls counts the stored objects and reads the size of the store at intervals, for /metrics and for the width of lists. Part of
// resources.ts.
import type { CancelTimer, Clock, GroupResource, Logger } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import type { ObjectStats, ResourceStack } from '@kapstan/apiserver';
import { type Engine, isStorageError, type StorageStats } from '@kapstan/storage';

export interface StorePollsOptions {
  readonly engines: readonly Engine[];
  /** The stacks that are open now. */
  readonly stacks: Iterable<ResourceStack>;
  /** `--etcd-count-metric-poll-period`, in milliseconds; a random 0 to 1.2 times as much is added. 0 = never. */
  readonly countPeriodMs: number;
  /** `--etcd-db-metric-poll-interval`, in milliseconds. 0 = never. */
  readonly sizePeriodMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number in [0, 1). Default Math.random. */
  readonly random?: () => number;
}

/** Source: registry.Store startObservingCount. */
const countJitter = 1.2;
/** Age from which counts are no longer meaningful. Source: staleTolerationThreshold. */
const staleMs = 180_000;

export class StorePolls {
  readonly #options: StorePollsOptions;
  readonly #stats = new WeakMap<ResourceStack, StorageStats | 'failed'>();
  /** The latest counts that could be read, by group resource. */
  readonly #latest = new Map<string, { readonly stats: StorageStats; readonly readMs: number }>();
  readonly #cancels = new Map<object, CancelTimer>();
  #storedBytes: readonly (number | undefined)[] = [];
  #isClosed = false;

  constructor(options: StorePollsOptions) {
    this.#options = options;
  }

  /**
   * The sizes last read, in the order of the engines; undefined for an engine whose size could not be read. Empty before the first read.
   */
  get storedBytes(): readonly (number | undefined)[] {
    return this.#storedBytes;
  }

  /** Returns undefined before the objects were first counted. */
  statsOf(stack: ResourceStack): StorageStats | 'failed' | undefined {
    return this.#stats.get(stack);
  }

  /** Returns 'stale' when the objects could not be counted for some minutes, and undefined when they never were. */
  latestOf(of: GroupResource): ObjectStats | 'stale' | undefined {
    const latest = this.#latest.get(formatGroupResource(of));
    if (latest === undefined) return undefined;
    return this.#options.clock.monotonicNow() - latest.readMs > staleMs ? 'stale' : latest.stats;
  }

  /** Polls at once and then at each interval. */
  start(): void {
    const { countPeriodMs, sizePeriodMs, random = Math.random } = this.#options;
    this.#repeat(
      () => this.#count(),
      countPeriodMs,
      () => countPeriodMs * (1 + countJitter * random()),
    );
    this.#repeat(
      () => this.#measure(),
      sizePeriodMs,
      () => sizePeriodMs,
    );
  }

  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#cancels.values()) cancel();
  }

  #repeat(poll: () => Promise<void>, periodMs: number, nextMs: () => number): void {
    if (periodMs === 0) return;
    const round = async (): Promise<void> => {
      await poll();
      if (!this.#isClosed)
        this.#cancels.set(
          poll,
          this.#options.clock.setBackgroundTimer(() => void round(), nextMs()),
        );
    };
    void round();
  }

  async #count(): Promise<void> {
    const stacks = [...this.#options.stacks];
    const open = new Set(stacks.map(({ served }) => formatGroupResource(served.definition)));
    for (const key of this.#latest.keys()) if (!open.has(key)) this.#latest.delete(key);
    await Promise.all(stacks.map((stack) => this.#countOne(stack)));
  }

  async #countOne(stack: ResourceStack): Promise<void> {
    try {
      const stats = await stack.stats();
      this.#stats.set(stack, stats);
      const readMs = this.#options.clock.monotonicNow();
      this.#latest.set(formatGroupResource(stack.served.definition), { stats, readMs });
    } catch (error) {
      this.#stats.set(stack, 'failed');
      this.#tell('could not count stored objects', error);
    }
  }

  async #measure(): Promise<void> {
    this.#storedBytes = await Promise.all(this.#options.engines.map((engine) => this.#measureOne(engine)));
  }

  async #measureOne(engine: Engine): Promise<number | undefined> {
    try {
      return await engine.storedBytes();
    } catch (error) {
      this.#tell('could not read the size of the store', error);
      return undefined;
    }
  }

  #tell(message: string, error: unknown): void {
    if (!this.#isClosed && !isStorageError(error, 'Closed'))
      this.#options.logger.info(message, { error: String(error) });
  }
}
