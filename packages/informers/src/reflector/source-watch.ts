// SourceWatch is one watch of a reflector's source. It passes on the source's events, marked with itself, so that the
// driver can distinguish it from an earlier watch. Made by reflector-driver.ts.
import type { KubernetesObject, ListerWatcher, WatchEvent, WatchOptions } from '@kapstan/api';
import { type ListWatchInput, listWatchFailureOf } from '@kapstan/api/internal';
import type { Observer, Subscription } from 'rxjs';
import { defer } from 'rxjs/internal/observable/defer';

/** The receiver of a watch's events and of the inputs that it makes for the machine. */
export interface SourceWatchSink<T extends KubernetesObject> {
  onWatchEvent(event: WatchEvent<T>, from: SourceWatch<T>): void;
  onWatchInput(input: ListWatchInput, from: SourceWatch<T>): void;
}

export class SourceWatch<T extends KubernetesObject> implements Observer<WatchEvent<T>> {
  readonly #sink: SourceWatchSink<T>;
  #subscription: Subscription | undefined;
  #isClosed = false;

  constructor(sink: SourceWatchSink<T>) {
    this.#sink = sink;
  }

  open(source: ListerWatcher<T>, options: WatchOptions): void {
    // defer: a watch that throws instead of erroring counts as failed too.
    this.#subscription = defer(() => source.watch(options)).subscribe(this);
    // The source may have sent something that closed this watch.
    if (this.#isClosed) this.#subscription.unsubscribe();
  }

  next(event: WatchEvent<T>): void {
    this.#sink.onWatchEvent(event, this);
  }

  error(error: unknown): void {
    this.#sink.onWatchInput({ type: 'watchFailed', failure: listWatchFailureOf(error) }, this);
  }

  complete(): void {
    this.#sink.onWatchInput({ type: 'ended' }, this);
  }

  close(): void {
    this.#isClosed = true;
    this.#subscription?.unsubscribe();
  }
}
