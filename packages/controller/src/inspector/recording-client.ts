// RecordingClient records the writes of a run: verb, kind, name and result, never a body. controller-runner.ts puts it under the client of
// a run when the inspector is on.
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  GetOptions,
  KubernetesObject,
  ListerWatcher,
  ListerWatcherScope,
  ListOptions,
  ListResult,
  ObjectList,
  ObjectTarget,
  PatchArguments,
  Resource,
  ResourceClient,
  SubresourceOptions,
  WriteOptions,
} from '@kapstan/api';
import { type ErrorText, isSecret } from '@kapstan/api/internal';
import type { RunWrite } from '@kapstan/inspector';
import { kindText } from './kind-text.ts';

type Target = { readonly namespace?: string | undefined; readonly name?: string | undefined } | undefined;
type Call = { readonly dryRun?: boolean | undefined; readonly subresource?: string | undefined } | undefined;

export interface WriteRecorder {
  /** Returns the index of the kept write; undefined = the write is not kept. */
  begin(write: RunWrite): number | undefined;
  end(place: number, write: RunWrite): void;
  now(): number;
  readonly errorText: ErrorText;
}

export class RecordingClient implements ResourceClient {
  readonly #client: ResourceClient;
  readonly #recorder: WriteRecorder;

  constructor(client: ResourceClient, recorder: WriteRecorder) {
    this.#client = client;
    this.#recorder = recorder;
  }

  get<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: GetOptions & SubresourceOptions,
  ): Promise<T> {
    return this.#client.get(resource, target, options);
  }

  list<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): ObjectList<T> {
    return this.#client.list(resource, options);
  }

  listPage<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ListResult<T>> {
    return this.#client.listPage(resource, options);
  }

  listerWatcher<T extends KubernetesObject>(resource: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T> {
    return this.#client.listerWatcher(resource, scope);
  }

  create<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const write = writeOf('create', resource, { target: object?.metadata, call: options });
    return this.#record(resource, write, () => this.#client.create(resource, object, options));
  }

  update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions & SubresourceOptions,
  ): Promise<T> {
    const write = writeOf('update', resource, { target: object?.metadata, call: options });
    return this.#record(resource, write, () => this.#client.update(resource, object, options));
  }

  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    ...[patch, options]: PatchArguments
  ): Promise<T> {
    const write = writeOf('patch', resource, { target, call: options });
    return this.#record(resource, write, () => this.#client.patch(resource, target, patch, options));
  }

  apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    const write = writeOf('apply', resource, { target: object?.metadata, call: options });
    return this.#record(resource, write, () => this.#client.apply(resource, object, options));
  }

  delete<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: DeleteOptions,
  ): Promise<T | undefined> {
    const write = writeOf('delete', resource, { target, call: options });
    return this.#record(resource, write, () => this.#client.delete(resource, target, options));
  }

  deleteCollection<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: ListOptions & DeleteOptions,
  ): Promise<void> {
    const target = { namespace: options?.namespace };
    const write = writeOf('deletecollection', resource, { target, call: options });
    return this.#record(resource, write, async () => {
      await this.#client.deleteCollection(resource, options);
      return undefined;
    });
  }

  createSubresource<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    const write = writeOf('create', resource, { target, call: { subresource: target?.subresource } });
    return this.#record(resource, write, () => this.#client.createSubresource(resource, target, call));
  }

  async #record<R extends KubernetesObject | undefined>(
    resource: Resource,
    write: RunWrite,
    send: () => Promise<R>,
  ): Promise<R> {
    const startedAtMs = this.#recorder.now();
    const place = this.#recorder.begin(write);
    const end = (result: Pick<RunWrite, 'resourceVersion' | 'error' | 'name'>): void => {
      if (place === undefined) return;
      this.#recorder.end(place, { ...write, ...result, durationMs: this.#recorder.now() - startedAtMs });
    };
    try {
      const answer = await send();
      const { metadata } = (answer ?? {}) as Partial<KubernetesObject>;
      // The server may have generated the name.
      const name = write.name === '' ? nameOf(resource, metadata) : write.name;
      end({ name, resourceVersion: metadata?.resourceVersion });
      return answer;
    } catch (error) {
      end({ name: write.name, error: this.#recorder.errorText(error) });
      throw error;
    }
  }
}

function writeOf(
  verb: string,
  resource: Resource,
  { target, call }: { readonly target: Target; readonly call: Call },
): RunWrite {
  return {
    verb,
    kind: kindText(resource),
    name: nameOf(resource, target),
    subresource: call?.subresource,
    isDryRun: call?.dryRun === true,
  };
}

function nameOf(resource: Resource, target: Target): string {
  if (isSecret(resource)) return '';
  const { namespace = '', name = '' } = target ?? {};
  return namespace === '' ? name : `${namespace}/${name}`;
}
