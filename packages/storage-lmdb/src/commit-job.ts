// CommitJob applies one commit to the next transaction. Made by committer.ts; the comparison and the change are in commit-batch.ts.
import { type Commit, type CommitResult, StorageError } from '@kapstan/storage';
import type { Batch, BatchJob } from './commit-batch.ts';

/** Knows whether there is room for a put, and counts the commits. */
export interface CommitHost {
  isFull(batch: Batch): boolean;
  commits: number;
}

/** The functions of the promise that a caller waits for. */
export interface CommitCaller {
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

export class CommitJob implements BatchJob {
  readonly #commit: Commit;
  readonly #host: CommitHost;
  readonly #caller: CommitCaller;
  #result: CommitResult | undefined;

  constructor(commit: Commit, host: CommitHost, caller: CommitCaller) {
    this.#commit = commit;
    this.#host = host;
    this.#caller = caller;
  }

  apply(batch: Batch): void {
    const { signal, change, key } = this.#commit;
    signal?.throwIfAborted();
    if (change.type === 'put' && this.#host.isFull(batch)) throw new StorageError({ code: 'Full', key });
    this.#result = batch.commit(this.#commit);
    if (this.#result.succeeded) this.#host.commits += 1;
  }

  done(): void {
    if (this.#result !== undefined) this.#caller.resolve(this.#result);
  }

  reject(error: unknown): void {
    this.#caller.reject(error);
  }
}
