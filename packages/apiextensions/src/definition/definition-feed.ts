// DefinitionFeed holds the present CustomResourceDefinitions, which it lists and watches on their own store in this
// process. Used by the definition controller.
import {
  type CancelTimer,
  type Clock,
  compareResourceVersions,
  type DeepReadonly,
  type Logger,
  type ResourceVersion,
  type UnstructuredObject,
} from '@kapstan/api';
import { TurnSlice } from '@kapstan/api/internal';
import type { RequestContext, ResourceStore } from '@kapstan/apiserver';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { StorageWatch } from '@kapstan/storage';

export type Definition = DeepReadonly<CustomResourceDefinition>;

export interface DefinitionFeedOptions {
  readonly store: ResourceStore<UnstructuredObject>;
  readonly context: RequestContext;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each change; `next` is undefined when the definition is gone, `last` when it is new. */
  onChange(change: { readonly next: Definition | undefined; readonly last: Definition | undefined }): void;
}

const pauseMs = 1000;

export class DefinitionFeed {
  readonly #options: DefinitionFeedOptions;
  readonly #known = new Map<string, Definition>();
  #watch: StorageWatch | undefined;
  #cancelPause: CancelTimer | undefined;
  #isClosed = false;

  constructor(options: DefinitionFeedOptions) {
    this.#options = options;
  }

  /** Resolves when the present definitions have been reported. */
  async start(): Promise<void> {
    const { store, context } = this.#options;
    const list = await store.list(context, {});
    if (this.#isClosed) return;
    // Each object is parsed on first use, and a thousand definitions of 50 KB take half a second.
    const slice = new TurnSlice({ itemsPerLook: 1 });
    const names = new Set<string>();
    for (const { object } of list.items) {
      const definition = object as unknown as Definition;
      names.add(nameOf(definition));
      this.take(definition);
      if (slice.endsHere()) await slice.nextTurn();
      if (this.#isClosed) return;
    }
    for (const [name, last] of this.#known) if (!names.has(name)) this.#gone(name, last);
    this.#follow(list.resourceVersion);
  }

  get(name: string): Definition | undefined {
    return this.#known.get(name);
  }

  all(): Iterable<Definition> {
    return this.#known.values();
  }

  /** Takes a newer state from a write's answer before the watch reports it. Older ones are ignored. */
  take(next: Definition): void {
    const name = nameOf(next);
    const last = this.#known.get(name);
    if (last !== undefined && compareResourceVersions(versionOf(next), versionOf(last)) <= 0) return;
    this.#known.set(name, next);
    this.#options.onChange({ next, last });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPause?.();
    this.#watch?.close();
  }

  #follow(resourceVersion: string): void {
    const { store, context } = this.#options;
    this.#watch = store.watch(
      context,
      { resourceVersion },
      {
        onEvent: (event) => {
          if (event.type === 'BOOKMARK') return;
          const definition = event.stored.object as unknown as Definition;
          if (event.type === 'DELETED') this.#deleted(definition);
          else this.take(definition);
        },
        onEnd: (error) => this.#again(error),
      },
    );
  }

  #deleted(definition: Definition): void {
    const name = nameOf(definition);
    const last = this.#known.get(name);
    // It may have been created again, which may be known before its deletion is reported.
    if (last !== undefined && last.metadata?.uid === definition.metadata?.uid) this.#gone(name, last);
  }

  #gone(name: string, last: Definition): void {
    this.#known.delete(name);
    this.#options.onChange({ next: undefined, last });
  }

  /** Lists again, because a watch that ended does not say what it missed. */
  #again(error: unknown): void {
    if (this.#isClosed) return;
    const { clock, logger } = this.#options;
    if (error !== undefined)
      logger.warn('the watch of the custom resource definitions ended', { error: String(error) });
    this.#cancelPause = clock.setBackgroundTimer(() => {
      this.start().catch((reason: unknown) => this.#again(reason));
    }, pauseMs);
  }
}

function nameOf(definition: Definition): string {
  return definition.metadata?.name ?? '';
}

function versionOf(definition: Definition): ResourceVersion {
  return definition.metadata?.resourceVersion as ResourceVersion;
}
