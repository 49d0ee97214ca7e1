// ParamResources finds the kinds of parameters of policies in the catalog, and reads the parameters from the watch caches.
import type { DeepReadonly, LabelSelector, UnstructuredObject } from '@kapstan/api';
import { formatApiVersion } from '@kapstan/api/internal';
import { ObjectReader, type ResourceCatalog, type ResourceDefinition } from '@kapstan/apiserver';
import type { ParamKind, ParamKinds, ParamResource } from '@kapstan/apiserver/internal';

export class ParamResources implements ParamKinds {
  readonly #catalog: ResourceCatalog;
  readonly #reader: ObjectReader;
  readonly #found = new Map<string, ParamResource | undefined>();
  #generation = -1;

  constructor(catalog: ResourceCatalog) {
    this.#catalog = catalog;
    this.#reader = new ObjectReader(catalog);
  }

  find({ apiVersion, kind }: ParamKind): ParamResource | undefined {
    if (this.#generation !== this.#catalog.generation) {
      this.#found.clear();
      this.#generation = this.#catalog.generation;
    }
    const key = `${apiVersion} ${kind}`;
    const known = this.#found.get(key);
    if (known !== undefined || this.#found.has(key)) return known;
    const served = this.#catalog
      .all()
      .find(({ definition }) => definition.kind === kind && formatApiVersion(definition) === apiVersion);
    const found = served && new StoredParams(served.definition, this.#reader);
    this.#found.set(key, found);
    return found;
  }
}

class StoredParams implements ParamResource {
  readonly #definition: ResourceDefinition;
  readonly #reader: ObjectReader;

  constructor(definition: ResourceDefinition, reader: ObjectReader) {
    this.#definition = definition;
    this.#reader = reader;
  }

  get isNamespaced(): boolean {
    return this.#definition.namespaced;
  }

  get(namespace: string, name: string): Promise<DeepReadonly<UnstructuredObject> | undefined> {
    return this.#reader.get(this.#definition, { namespace, name }, 'cached');
  }

  async list(namespace: string, selector: LabelSelector): Promise<readonly DeepReadonly<UnstructuredObject>[]> {
    return this.#reader.select(this.#definition, namespace, selector);
  }
}
