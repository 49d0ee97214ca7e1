// RequestList keeps requests in the order of their arrival. The links are members of the requests, so adding and removing allocate nothing.
// Used by fair-queue.ts for waiting and for running requests.

/** The links that a list needs in its members. An object is in at most one list. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

export class RequestList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The request that arrived first. */
  get first(): T | undefined {
    return this.#first;
  }

  /** The request must be in no list. */
  add(request: T): void {
    request.previous = this.#last;
    request.next = undefined;
    if (this.#last === undefined) this.#first = request;
    else this.#last.next = request;
    this.#last = request;
    this.#length++;
  }

  /** The request must be in this list. */
  remove(request: T): void {
    const { previous, next } = request;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    request.previous = undefined;
    request.next = undefined;
    this.#length--;
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let request = this.#first; request !== undefined; request = request.next) yield request;
  }
}
