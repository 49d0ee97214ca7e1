// WatcherIndex finds the live watchers that an event may concern, by key scope and by field value. Used by
// dispatcher.ts.
import type { KubernetesObject } from '@kapstan/api';
import type { CacheEntry, CacheEvent } from './cache-entry.ts';
import type { CacheWatcher } from './cache-watcher.ts';
import { fieldOf } from './indexed-store.ts';

/** The watchers on one key or under one prefix. Each watcher is in exactly one of the sets. */
interface Scope<T extends KubernetesObject> {
  readonly unindexed: Set<CacheWatcher<T>>;
  /** Field → value that the watch requires → watchers. */
  readonly byField: Map<string, Map<string, Set<CacheWatcher<T>>>>;
}

export class WatcherIndex<T extends KubernetesObject> {
  readonly #fields: readonly string[];
  readonly #scopes = new Map<string, Scope<T>>();

  /** A watch that requires one exact value of such a field is offered only objects that have or had that value. */
  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  add(watcher: CacheWatcher<T>): void {
    let scope = this.#scopes.get(watcher.key);
    if (scope === undefined) {
      scope = { unindexed: new Set(), byField: new Map() };
      this.#scopes.set(watcher.key, scope);
    }
    const trigger = this.#triggerOf(watcher);
    if (trigger === undefined) {
      scope.unindexed.add(watcher);
      return;
    }
    const values = scope.byField.get(trigger.field) ?? new Map<string, Set<CacheWatcher<T>>>();
    scope.byField.set(trigger.field, values);
    const watchers = values.get(trigger.value) ?? new Set<CacheWatcher<T>>();
    values.set(trigger.value, watchers);
    watchers.add(watcher);
  }

  remove(watcher: CacheWatcher<T>): void {
    const scope = this.#scopes.get(watcher.key);
    if (scope === undefined) return;
    const trigger = this.#triggerOf(watcher);
    if (trigger === undefined) {
      scope.unindexed.delete(watcher);
    } else {
      const values = scope.byField.get(trigger.field);
      const watchers = values?.get(trigger.value);
      watchers?.delete(watcher);
      if (watchers?.size === 0) values?.delete(trigger.value);
      if (values?.size === 0) scope.byField.delete(trigger.field);
    }
    if (scope.unindexed.size === 0 && scope.byField.size === 0) this.#scopes.delete(watcher.key);
  }

  /** Offers the event to each watcher that it may concern. */
  offer(event: CacheEvent<T>): void {
    this.#offerIn(this.#scopes.get(event.key), event);
    // Prefixes end with a slash; an object's own key does not.
    for (let slash = event.key.indexOf('/'); slash !== -1; slash = event.key.indexOf('/', slash + 1)) {
      const scope = this.#scopes.get(event.key.slice(0, slash + 1));
      if (scope !== undefined) this.#offerIn(scope, event);
    }
  }

  #offerIn(scope: Scope<T> | undefined, event: CacheEvent<T>): void {
    if (scope === undefined) return;
    for (const watcher of scope.unindexed) watcher.offer(event);
    for (const [field, values] of scope.byField) {
      const now = valueIn(event.current, field);
      const before = valueIn(event.previous, field);
      if (now !== undefined) offerTo(values.get(now), event);
      if (before !== undefined && before !== now) offerTo(values.get(before), event);
    }
  }

  #triggerOf(watcher: CacheWatcher<T>): Trigger | undefined {
    return triggerOf(watcher, this.#fields);
  }
}

interface Trigger {
  readonly field: string;
  readonly value: string;
}

function triggerOf<T extends KubernetesObject>(
  watcher: CacheWatcher<T>,
  fields: readonly string[],
): Trigger | undefined {
  for (const field of fields) {
    const value = watcher.predicate.fields.exactValue(field);
    if (value !== undefined) return { field, value };
  }
  return undefined;
}

/**
 * Returns the place of a watcher in the index, for people: its key or prefix, and the indexed field that it requires.
 */
export function scopeOf<T extends KubernetesObject>(watcher: CacheWatcher<T>, fields: readonly string[]): string {
  const trigger = triggerOf(watcher, fields);
  return trigger === undefined ? watcher.key : `${watcher.key} ${trigger.field}=${trigger.value}`;
}

function valueIn<T extends KubernetesObject>(entry: CacheEntry<T> | undefined, field: string): string | undefined {
  return entry === undefined ? undefined : fieldOf(entry, field);
}

function offerTo<T extends KubernetesObject>(watchers: Set<CacheWatcher<T>> | undefined, event: CacheEvent<T>): void {
  if (watchers !== undefined) for (const watcher of watchers) watcher.offer(event);
}
