// InspectorFeed takes snapshots of an inspection and streams changes, as server-sent events. All watchers share one snapshot a second; none
// is taken while nobody watches. Used by inspector-routes.ts.
import type { CancelTimer, Clock } from '@kapstan/api';
import { addAbortListener, removeAbortListener } from '@kapstan/api/internal';
import { type Inspection, InspectionError } from './inspection.ts';
import { inspectorApiVersion, type SectionName, type Sections } from './overview.ts';

/** Minimum time between two snapshots, in milliseconds. */
const paceMs = 1000;
/** Snapshots without a change after which watchers get a sign of life, so that a connection that is gone is noticed. */
const quietPaces = 15;
const maxWatchers = 32;

export interface InspectorFeedOptions {
  readonly inspection: Inspection;
  readonly clock: Clock;
}

/** A state of all sections, and the change that led to it. */
interface Snapshot {
  readonly generation: number;
  readonly takenAtMs: number;
  readonly at: number;
  /** JSON by section. */
  readonly texts: ReadonlyMap<string, string>;
  /** Names of the sections that differ from the generation before. */
  readonly changed: readonly string[];
  /** Events, encoded for the first watcher that needs them and shared by all. */
  full: Uint8Array | undefined;
  change: Uint8Array | undefined;
}

type Wake = 'changed' | 'quiet' | 'closed';

export class InspectorFeed {
  readonly #inspection: Inspection;
  readonly #clock: Clock;
  #snapshot: Snapshot | undefined;
  /** The snapshot that is being taken. */
  #taking: Promise<Snapshot> | undefined;
  #watchers = 0;
  readonly #waiting = new Set<(wake: Wake) => void>();
  #cancelTimer: CancelTimer | undefined;
  #quiet = 0;
  /** The generation that all waiting watchers know. */
  #told = 0;
  #isClosed = false;

  constructor({ inspection, clock }: InspectorFeedOptions) {
    this.#inspection = inspection;
    this.#clock = clock;
  }

  /** Number of streams under way. */
  get watchers(): number {
    return this.#watchers;
  }

  /** Returns the overview as JSON, at most a second old. */
  async overview(): Promise<string> {
    return this.#overviewOf(await this.#present());
  }

  /**
   * Streams `overview` events with everything and `change` events with the sections that differ. Nothing is queued: a reader that comes
   * back after several changes gets everything again. Ends on close and when the signal aborts. Throws InspectionError 429 for too many.
   */
  async *watch(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#watchers >= maxWatchers)
      throw new InspectionError(429, `${maxWatchers} clients follow this process already: close one of them`);
    this.#watchers++;
    try {
      let seen: number | undefined;
      while (!(signal.aborted || this.#isClosed)) {
        const snapshot = await this.#present();
        const { generation } = snapshot;
        if (generation !== seen) {
          const isNext = generation - 1 === seen;
          seen = generation;
          yield isNext ? this.#changeOf(snapshot) : this.#fullOf(snapshot);
          continue;
        }
        this.#arm();
        const wake = await this.#next(signal);
        if (wake === 'quiet') yield quietEvent;
      }
    } finally {
      this.#watchers--;
      if (this.#watchers === 0) this.#disarm();
    }
  }

  /** Ends all streams. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#disarm();
    this.#wake('closed');
  }

  /** Returns the last snapshot, or takes a new one when that is too old. */
  async #present(): Promise<Snapshot> {
    const last = this.#snapshot;
    if (last !== undefined && this.#clock.monotonicNow() - last.takenAtMs < paceMs) return last;
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return await this.#taking;
  }

  async #take(): Promise<Snapshot> {
    const sections = await this.#inspection.sections();
    const before = this.#snapshot;
    const texts = new Map<string, string>();
    for (const [name, section] of Object.entries(sections) as [SectionName, Sections[SectionName]][])
      if (section !== undefined) texts.set(name, JSON.stringify(section));
    const changed = [...texts.keys()].filter((name) => before?.texts.get(name) !== texts.get(name));
    const isSame = before !== undefined && changed.length === 0 && before.texts.size === texts.size;
    const taken = { takenAtMs: this.#clock.monotonicNow(), at: this.#clock.now(), texts };
    this.#snapshot = isSame
      ? { ...before, ...taken }
      : { ...taken, generation: (before?.generation ?? 0) + 1, changed, full: undefined, change: undefined };
    return this.#snapshot;
  }

  // ---- The pace ----

  #arm(): void {
    if (this.#cancelTimer !== undefined || this.#isClosed) return;
    const sinceMs = this.#clock.monotonicNow() - (this.#snapshot?.takenAtMs ?? 0);
    this.#cancelTimer = this.#clock.setBackgroundTimer(() => this.#tick(), Math.max(1, paceMs - sinceMs));
  }

  #tick(): void {
    this.#cancelTimer = undefined;
    // After an error each watcher asks again and fails with the same error.
    this.#present().then(
      ({ generation }) => this.#tell(generation),
      () => this.#wake('changed'),
    );
  }

  #tell(generation: number): void {
    const isChanged = generation !== this.#told;
    this.#told = generation;
    this.#quiet = isChanged ? 0 : this.#quiet + 1;
    if (isChanged) return this.#wake('changed');
    if (this.#quiet % quietPaces === 0) return this.#wake('quiet');
    if (this.#watchers > 0) this.#arm();
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #wake(wake: Wake): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve(wake);
  }

  #next(signal: AbortSignal): Promise<Wake> {
    return new Promise((resolve) => {
      const end = (wake: Wake): void => {
        this.#waiting.delete(end);
        removeAbortListener(signal, onAbort);
        resolve(wake);
      };
      const onAbort = (): void => end('closed');
      addAbortListener(signal, onAbort);
      this.#waiting.add(end);
      if (signal.aborted) onAbort();
    });
  }

  // ---- Texts ----

  #fullOf(snapshot: Snapshot): Uint8Array {
    snapshot.full ??= eventOf('overview', this.#overviewOf(snapshot));
    return snapshot.full;
  }

  #changeOf(snapshot: Snapshot): Uint8Array {
    snapshot.change ??= eventOf(
      'change',
      `{"at":${snapshot.at},"sections":${sectionsText(snapshot, snapshot.changed)}}`,
    );
    return snapshot.change;
  }

  #overviewOf(snapshot: Snapshot): string {
    const { subject, name } = this.#inspection;
    const head = JSON.stringify({ apiVersion: inspectorApiVersion, kind: 'Overview', subject, name, at: snapshot.at });
    return `${head.slice(0, -1)},"sections":${sectionsText(snapshot, [...snapshot.texts.keys()])}}`;
  }
}

function sectionsText({ texts }: Snapshot, names: readonly string[]): string {
  return `{${names.map((name) => `${JSON.stringify(name)}:${texts.get(name) ?? 'null'}`).join(',')}}`;
}

const encoder = new TextEncoder();
const quietEvent = encoder.encode(':\n\n');

/** JSON has no line break, so each event is one line of data. */
function eventOf(type: string, json: string): Uint8Array {
  return encoder.encode(`event: ${type}\ndata: ${json}\n\n`);
}
