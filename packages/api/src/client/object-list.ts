// A list in pages. Awaited, it is an array; iterated, it yields objects while later pages are still on the server.
// Returned by `list` of every ResourceClient.

import { isExpired } from '../errors/status-error.ts';
import type { DeepReadonly, KubernetesObject } from '../objects/kubernetes-object.ts';
import { requireObject } from '../objects/object-target.ts';
import type { ListOptions } from './call-options.ts';
import type { ListResult } from './lister-watcher.ts';

type PageReader<T extends KubernetesObject> = (options: ListOptions) => Promise<ListResult<T>>;

/**
 * The result of `list` of a `ResourceClient`. It asks the server only when awaited or iterated, and again each time.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const client = await connect();
 * const pods = client.list(Pod, { limit: 500 });
 * for await (const pod of pods) console.log(pod.metadata?.name); // one page at a time
 * console.log((await pods).length); // all of them, asked for again
 * ```
 */
export class ObjectList<T extends KubernetesObject> implements Promise<DeepReadonly<T>[]> {
  readonly #read: PageReader<T>;
  readonly #options: ListOptions;
  readonly #pageSize: number;

  /** `read` reads one page with the given `continue`, and `pageSize` items (0 = all) if the options have no `limit`. */
  constructor(read: PageReader<T>, options: ListOptions, pageSize = 0) {
    this.#read = read;
    this.#options = options;
    this.#pageSize = pageSize;
  }

  get [Symbol.toStringTag](): string {
    return 'ObjectList';
  }

  /**
   * Resolves to all objects. When a later page has expired (410), the whole list is requested at once, as client-go's
   * pager does.
   */
  // biome-ignore lint/suspicious/noThenProperty: a list is awaited as a whole or iterated, as the design has it
  then<A = DeepReadonly<T>[], B = never>(
    onFulfilled?: ((items: DeepReadonly<T>[]) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#all().then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<DeepReadonly<T>[] | B> {
    return this.then(null, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<DeepReadonly<T>[]> {
    return this.then().finally(onFinally);
  }

  /** Yields the pages, each read on demand. Rejects with an expired error when the version of the list is gone. */
  async *pages(): AsyncGenerator<ListResult<T>, void, undefined> {
    const options = withPageSize(this.#options, this.#pageSize);
    let page = await this.#read(options);
    yield page;
    while (page.continue !== undefined) {
      page = await this.#read(continued(options, page.continue));
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<DeepReadonly<T>, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  async #all(): Promise<DeepReadonly<T>[]> {
    const items: DeepReadonly<T>[] = [];
    let isFirstPage = true;
    try {
      for await (const page of this.pages()) {
        isFirstPage = false;
        for (const item of page.items) items.push(item);
      }
      return items;
    } catch (error) {
      if (!isExpired(error) || isFirstPage) throw error;
    }
    const { limit: _, ...whole } = this.#options;
    return [...(await this.#read(whole)).items];
  }
}

/**
 * Inherited options count, as elsewhere. Throws TypeError for options that are not an object, because spreading them
 * would select everything.
 */
function withPageSize(given: ListOptions, pageSize: number): ListOptions {
  requireObject(given, 'options, such as { namespace },');
  const options: Record<string, unknown> = pageSize === 0 ? {} : { limit: pageSize };
  for (const name in given) {
    const value = given[name as keyof ListOptions];
    if (value !== undefined) options[name] = value;
  }
  return options;
}

// A continue token contains the version, so the server refuses both together. Source: client-go tools/pager
// (eachListChunk).
function continued(options: ListOptions, token: string): ListOptions {
  const { resourceVersion: _, resourceVersionMatch: __, ...rest } = options;
  return { ...rest, continue: token };
}
