// WriteHistory records each write that the server acknowledged; a reader's observations are compared with it.
import { type Clock, type DeepReadonly, delay, isNotFound, type ResourceClient } from '@kapstan/api';
import { isDeletedFinalStateUnknown, type SharedInformer } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';

type Shared = DeepReadonly<ConfigMap>;

/** One acknowledged write. A delete has the version of the last state. */
interface Write {
  readonly type: 'create' | 'update' | 'delete';
  readonly uid: string;
  readonly version: string;
}

export interface WriterOptions {
  readonly client: ResourceClient;
  readonly clock: Clock;
  readonly random: () => number;
  /** Objects that belong to this writer alone. */
  readonly keys: readonly string[];
  readonly writes: number;
  /** Longest pause between two writes, on the clock. */
  readonly maxPauseMs: number;
}

/** The writes by key, in the order in which they were acknowledged. */
export class WriteHistory {
  readonly writes = new Map<string, Write[]>();
  /** The present objects, as the server answered. */
  readonly present = new Map<string, ConfigMap>();
  #count = 0;

  /**
   * Makes this many random creates, updates and deletes, one at a time. After a failed write it looks the object up and
   * continues.
   */
  async write(options: WriterOptions): Promise<void> {
    const { clock, random, keys, maxPauseMs } = options;
    for (let count = 0; count < options.writes; count++) {
      const name = keys[Math.floor(random() * keys.length)] as string;
      await this.#writeOne(options, name);
      if (maxPauseMs > 0) await delay(clock, random() * maxPauseMs);
    }
  }

  async delete(client: ResourceClient, name: string): Promise<void> {
    const present = this.present.get(name) as ConfigMap;
    await client.delete(ConfigMap, { name, namespace: 'default' });
    this.#note('delete', present);
    this.present.delete(name);
  }

  async #writeOne(options: WriterOptions, name: string): Promise<void> {
    const { client, clock, random } = options;
    const before = this.present.get(name);
    try {
      if (before !== undefined && random() < 0.3) return await this.delete(client, name);
      const data = { count: String(this.#count++) };
      const after =
        before === undefined
          ? await client.create(ConfigMap, { metadata: { name, namespace: 'default' }, data })
          : await client.update(ConfigMap, { ...before, data });
      this.#noteState(before, after);
    } catch (error) {
      if (!/ECONN|Closed|stopped/.test(`${(error as { code?: string }).code} ${error}`)) throw error;
      await this.#lookUp(client, clock, { name, before });
    }
  }

  /** Asks the server, once it is back, whether a write without an answer took effect. */
  async #lookUp(
    client: ResourceClient,
    clock: Clock,
    { name, before }: { name: string; before: ConfigMap | undefined },
  ) {
    for (;;) {
      try {
        const after = await client.get(ConfigMap, { name, namespace: 'default' });
        if (after.metadata?.resourceVersion !== before?.metadata?.resourceVersion) this.#noteState(before, after);
        return;
      } catch (error) {
        if (isNotFound(error)) {
          if (before !== undefined) this.#note('delete', before);
          this.present.delete(name);
          return;
        }
        await delay(clock, 100);
      }
    }
  }

  #noteState(before: ConfigMap | undefined, after: ConfigMap): void {
    this.#note(before === undefined ? 'create' : 'update', after);
    this.present.set(after.metadata?.name ?? '', after);
  }

  #note(type: Write['type'], { metadata }: ConfigMap): void {
    const name = metadata?.name ?? '';
    const writes = this.writes.get(name) ?? [];
    writes.push({ type, uid: metadata?.uid ?? '', version: metadata?.resourceVersion ?? '' });
    this.writes.set(name, writes);
  }
}

interface Seen extends Write {
  readonly isTombstone: boolean;
}

/** The events of an informer's handler, checked as they come. */
export class ReadHistory {
  readonly seen = new Map<string, Seen[]>();
  readonly phases: string[] = [];
  readonly errors: unknown[] = [];

  constructor(informer: SharedInformer<ConfigMap>) {
    informer.status$.subscribe(({ phase, error }) => {
      if (this.phases.at(-1) !== phase) this.phases.push(phase);
      if (error !== undefined) this.errors.push(error);
    });
    informer.addEventHandler({
      onAdd: (object) => this.#note('create', object, false),
      // After a relist, unchanged objects arrive like a resync, as in client-go: the versions are equal.
      onUpdate: (before, object) => {
        if (before.metadata?.resourceVersion !== object.metadata?.resourceVersion) this.#note('update', object, false);
      },
      onDelete: (object) => {
        if (!isDeletedFinalStateUnknown<ConfigMap>(object)) this.#note('delete', object, false);
        else if (object.object !== undefined) this.#note('delete', object.object, true);
      },
    });
  }

  get tombstones(): readonly string[] {
    return [...this.seen].filter(([, seen]) => seen.some(({ isTombstone }) => isTombstone)).map(([name]) => name);
  }

  /** Compares the observed changes with the writes. Returns the problems; empty when there are none. */
  problems(history: WriteHistory, completeness: 'everyWrite' | 'lastStates'): string[] {
    const names = new Set([...history.writes.keys(), ...this.seen.keys()]);
    return [...names].flatMap((name) => {
      const writes = history.writes.get(name) ?? [];
      const seen = this.seen.get(name) ?? [];
      const problems = [...unordered(seen), ...unknownTo(writes, seen), ...lifeProblems(seen)];
      if (completeness === 'everyWrite' && text(seen) !== text(writes)) problems.push('a write was missed');
      return problems.map((problem) => `${name}: ${problem}\n  written ${text(writes)}\n  seen    ${text(seen)}`);
    });
  }

  #note(type: Write['type'], { metadata }: Shared, isTombstone: boolean): void {
    const name = metadata?.name ?? '';
    const seen = this.seen.get(name) ?? [];
    seen.push({ type, uid: metadata?.uid ?? '', version: metadata?.resourceVersion ?? '', isTombstone });
    this.seen.set(name, seen);
  }
}

/** Returns versions that do not rise strictly (I1). A tombstone shows the last known state once more. */
function unordered(seen: readonly Seen[]): string[] {
  let last = 0n;
  return seen.flatMap(({ type, version }) => {
    const isRising = type === 'delete' ? BigInt(version) >= last : BigInt(version) > last;
    last = BigInt(version);
    return isRising ? [] : [`version ${version} came late or twice`];
  });
}

function unknownTo(writes: readonly Write[], seen: readonly Seen[]): string[] {
  const states = new Set(writes.map(({ uid, version }) => `${uid} ${version}`));
  const uids = new Set(writes.map(({ uid }) => uid));
  return seen.flatMap(({ type, uid, version }) => {
    // The event of a delete carries the revision of the delete.
    const isKnown = type === 'delete' ? uids.has(uid) : states.has(`${uid} ${version}`);
    return isKnown ? [] : [`nobody wrote ${uid} ${version}`];
  });
}

/**
 * Checks that an object is added once, then updated, then deleted, and stays gone. A relist may show a delete and a
 * create as one update.
 */
function lifeProblems(seen: readonly Seen[]): string[] {
  const gone = new Set<string>();
  let present: string | undefined;
  return seen.flatMap(({ type, uid }) => {
    const problems: string[] = [];
    if (type === 'create' && present !== undefined) problems.push('added twice');
    if (type !== 'create' && present === undefined) problems.push(`${type} of an unknown object`);
    if (gone.has(uid)) problems.push(`${uid} rose from the dead`);
    if (present !== undefined && (type === 'delete' || present !== uid)) gone.add(present);
    present = type === 'delete' ? undefined : uid;
    return problems;
  });
}

/**
 * Describes types and states. Deletes have no version here, since their events carry another one than the last state.
 */
function text(history: readonly Write[]): string {
  return history
    .map(({ type, uid, version }) => `${type} ${uid.slice(0, 4)} ${type === 'delete' ? '' : version}`)
    .join(', ');
}

/** Returns a generator of numbers in [0, 1) that repeats for the same seed. Source: mulberry32. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
