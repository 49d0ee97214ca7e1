// A model of the Engine port in about sixty lines: a list of changes, replayed for every question. engine-programs.ts
// compares it with real engines.

/** A key in the model. Its value is a number, since only its identity matters. */
export interface ModelKey {
  readonly key: string;
  readonly value: number;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly isLeased: boolean;
}

export interface ModelChange {
  readonly revision: number;
  readonly key: string;
  /** Absent: the key was deleted. */
  readonly after?: ModelKey;
  readonly before?: ModelKey;
}

export type ModelWrite =
  | { readonly type: 'put'; readonly value: number; readonly isLeased: boolean }
  /** Default: the next revision. Deletes of one transaction share one revision. */
  | { readonly type: 'delete'; readonly revision?: number };

export class EngineModel {
  readonly changes: ModelChange[] = [];
  compactRevision: number;
  /** Revision at which there are no keys. Nothing earlier is known. */
  readonly firstRevision: number;

  constructor(firstRevision: number, compactRevision = 0) {
    this.firstRevision = firstRevision;
    this.compactRevision = compactRevision;
  }

  get revision(): number {
    return this.changes.at(-1)?.revision ?? this.firstRevision;
  }

  /** Returns the keys at a revision, sorted. */
  stateAt(revision: number): ModelKey[] {
    const state = new Map<string, ModelKey>();
    for (const { key, after, revision: at } of this.changes) {
      if (at > revision) break;
      if (after) state.set(key, after);
      else state.delete(key);
    }
    return [...state.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  keyAt(key: string, revision: number): ModelKey | undefined {
    return this.stateAt(revision).find((entry) => entry.key === key);
  }

  /** Commits a write. Returns its change, or undefined when the compare fails. */
  commit(key: string, expectedRevision: number, write: ModelWrite): ModelChange | undefined {
    const before = this.keyAt(key, this.revision);
    if ((before?.modRevision ?? 0) !== expectedRevision) return undefined;
    const revision = (write.type === 'delete' ? write.revision : undefined) ?? this.revision + 1;
    const createRevision = before?.createRevision ?? revision;
    const after =
      write.type === 'put'
        ? { key, createRevision, modRevision: revision, value: write.value, isLeased: write.isLeased }
        : undefined;
    const change = { revision, key, ...(after && { after }), ...(before && { before }) };
    this.changes.push(change);
    return change;
  }

  /** Takes back all changes after a revision. */
  forgetAfter(revision: number): void {
    while (this.revision > revision) this.changes.pop();
  }

  /** Returns the error with which a read at a revision must fail; undefined = it succeeds. */
  refusalAt(revision: number): 'Compacted' | 'FutureRevision' | undefined {
    if (revision > this.revision) return 'FutureRevision';
    return revision !== 0 && revision < this.compactRevision ? 'Compacted' : undefined;
  }

  changesAfter(revision: number): ModelChange[] {
    return this.changes.filter((change) => change.revision > revision);
  }
}
