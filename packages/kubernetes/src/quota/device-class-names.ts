// DeviceClassNames knows which device class serves which extended resource. Fed by a feed of the classes; read by resource-claim-usage.ts.
// Source: dynamic-resource-allocation deviceclass/extendedresourcecache.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { DeviceClass } from '@kapstan/kinds/resource.k8s.io/v1';

type Stored = DeepReadonly<KubernetesObject>;

export class DeviceClassNames {
  /** Extended resources by the name of the class; undefined for a class that names none. */
  readonly #resources = new Map<string, string | undefined>();
  /** Number of classes that serve an extended resource. */
  readonly #classes = new Map<string, number>();

  set(object: Stored): void {
    const name = object.metadata?.name ?? '';
    this.#remove(name);
    const resource = (object as DeepReadonly<DeviceClass>).spec?.extendedResourceName || undefined;
    this.#resources.set(name, resource);
    if (resource !== undefined) this.#classes.set(resource, (this.#classes.get(resource) ?? 0) + 1);
  }

  delete(object: Stored): void {
    this.#remove(object.metadata?.name ?? '');
  }

  replace(objects: Iterable<Stored>): void {
    this.#resources.clear();
    this.#classes.clear();
    for (const object of objects) this.set(object);
  }

  /** Returns the extended resource that a class serves. */
  resourceOf(deviceClass: string): string | undefined {
    return this.#resources.get(deviceClass);
  }

  /** Returns true for an extended resource that devices serve: by its own name, or by the name of a class. */
  serves(resource: string): boolean {
    if (this.#classes.has(resource)) return true;
    return resource.startsWith(implicitPrefix) && this.#resources.has(resource.slice(implicitPrefix.length));
  }

  #remove(name: string): void {
    const resource = this.#resources.get(name);
    this.#resources.delete(name);
    if (resource === undefined) return;
    const left = (this.#classes.get(resource) ?? 1) - 1;
    if (left === 0) this.#classes.delete(resource);
    else this.#classes.set(resource, left);
  }
}

/** Each class can be requested as an extended resource by its own name. */
export const implicitPrefix = 'deviceclass.resource.kubernetes.io/';
