// FlowControlObjects holds the stored flow schemas and priority levels, and the configuration that follows from them. The control plane
// feeds it from the watch cache. Source: apf_controller.go (configController).
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { FlowConfiguration, PriorityLevelConfig, FlowSchema as ServedSchema } from '@kapstan/apiserver';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { mandatoryLevels, mandatorySchemas } from './bootstrap-configuration.ts';
import { readLevel, readSchema } from './flow-configuration.ts';

/** The kinds that configure priority and fairness. */
export type FlowControlKind = 'FlowSchema' | 'PriorityLevelConfiguration';

type Stored = DeepReadonly<KubernetesObject>;
type StoredSchema = DeepReadonly<FlowSchema>;
type StoredLevel = DeepReadonly<PriorityLevelConfiguration>;

interface Known<T, R> {
  readonly object: T;
  /** The parsed object; undefined when its parts contradict each other. */
  readonly read: R | undefined;
}

/** The part that changed: 'specs' may change how requests are served, 'status' cannot. */
export type FlowControlChange = 'specs' | 'status';

/** The FlowSchemas and priority levels of a cluster, checked. */
export class FlowControlObjects {
  readonly #schemas = new Map<string, Known<StoredSchema, ServedSchema>>();
  readonly #levels = new Map<string, Known<StoredLevel, PriorityLevelConfig>>();
  readonly #onChange: (change: FlowControlChange) => void;

  /** `onChange` is called at each change, while the store is fed. */
  constructor(onChange: (change: FlowControlChange) => void) {
    this.#onChange = onChange;
  }

  get schemas(): Iterable<StoredSchema> {
    return [...this.#schemas.values()].map(({ object }) => object);
  }

  get levels(): Iterable<StoredLevel> {
    return [...this.#levels.values()].map(({ object }) => object);
  }

  schema(name: string): StoredSchema | undefined {
    return this.#schemas.get(name)?.object;
  }

  level(name: string): StoredLevel | undefined {
    return this.#levels.get(name)?.object;
  }

  /** True when the level exists and can be used. */
  hasUsableLevel(name: string): boolean {
    return this.#levels.get(name)?.read !== undefined;
  }

  set(kind: FlowControlKind, object: Stored): void {
    this.#onChange(this.#set(kind, object));
  }

  delete(kind: FlowControlKind, object: Stored): void {
    (kind === 'FlowSchema' ? this.#schemas : this.#levels).delete(nameOf(object));
    this.#onChange('specs');
  }

  /** Replaces all objects of the kind in one step. */
  replace(kind: FlowControlKind, objects: Iterable<Stored>): void {
    (kind === 'FlowSchema' ? this.#schemas : this.#levels).clear();
    for (const object of objects) this.#set(kind, object);
    this.#onChange('specs');
  }

  /** Returns the configuration in force: the stored objects, and mandatory ones that are not stored now. */
  configuration(): FlowConfiguration {
    return configurationOf(
      [...this.#schemas.values()].flatMap(({ read }) => read ?? []),
      [...this.#levels.values()].flatMap(({ read }) => read ?? []),
    );
  }

  #set(kind: FlowControlKind, object: Stored): FlowControlChange {
    return kind === 'FlowSchema'
      ? keep(this.#schemas, object as StoredSchema, readSchema)
      : keep(this.#levels, object as StoredLevel, readLevel);
  }
}

/** Returns the configuration of a server that has read nothing yet. */
export function mandatoryConfiguration(): FlowConfiguration {
  return configurationOf([], []);
}

function configurationOf(schemas: readonly ServedSchema[], levels: readonly PriorityLevelConfig[]): FlowConfiguration {
  return {
    schemas: withMissing(schemas, mandatorySchemas.map(readSchema)),
    levels: withMissing(
      levels,
      mandatoryLevels.flatMap((level) => readLevel(level) ?? []),
    ),
    fallback: 'catch-all',
  };
}

function withMissing<T extends { readonly name: string }>(
  present: readonly T[],
  mandatory: readonly T[],
): readonly T[] {
  const names = new Set(present.map(({ name }) => name));
  return [...present, ...mandatory.filter(({ name }) => !names.has(name))];
}

/** An unchanged spec keeps its parsed form, so that a new status costs nothing. */
function keep<T extends StoredSchema | StoredLevel, R>(
  known: Map<string, Known<T, R>>,
  object: T,
  read: (object: T) => R | undefined,
): FlowControlChange {
  const name = nameOf(object);
  const before = known.get(name);
  const isSame =
    before !== undefined &&
    before.object.metadata?.uid === object.metadata?.uid &&
    (before.object.spec === object.spec || jsonEqual(before.object.spec, object.spec));
  known.set(name, { object, read: isSame ? before.read : read(object) });
  return isSame ? 'status' : 'specs';
}

function nameOf({ metadata }: Stored): string {
  return metadata?.name ?? '';
}
