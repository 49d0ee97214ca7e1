// ControllerRun: controllers that run in a test, as an admin, or as a service account with just the rights that they declare. Made by
// TestCluster.run().
import { isAlreadyExists, type KubernetesObject, type Resource, type ResourceClient, resource } from '@kapstan/api';
import { isHookHost } from '@kapstan/api/internal';
import type { Client } from '@kapstan/client';
import { type Controller, Manager, type Right, type RunOptions, rightsOf, rolesOf } from '@kapstan/controller';
import { Namespace } from '@kapstan/kinds/core/v1';
import type { AccessRecord } from './access-record.ts';
import { warnOfFailure } from './disposal-warning.ts';
import { missingLines, namedKinds, UsedRights } from './used-rights.ts';

/** Options of `run`; the cluster is the client. */
export type ControllerRunOptions = Omit<RunOptions, 'client' | 'kubeconfig' | 'context' | 'inCluster' | 'signal'>;

/** Namespace of the controllers' service account. */
const namespace = 'default';
let runs = 0;

export interface ControllerRunParts {
  readonly controllers: readonly Controller[];
  readonly options: ControllerRunOptions;
  /** The admin of the cluster. */
  readonly admin: ResourceClient;
  /** Absent: the controllers run as the admin. */
  readonly rights:
    | {
        readonly record: AccessRecord;
        /** Returns a client that acts as this user. */
        readonly connectAs: (user: string) => Promise<Client>;
        /** Resolves when the cluster knows its new roles. */
        readonly settle: () => Promise<void>;
      }
    | undefined;
}

/** Grants the rights and starts the controllers. Rejects with TypeError for bad options. */
export async function startControllers(parts: ControllerRunParts): Promise<ControllerRun> {
  const { controllers, options, admin, rights } = parts;
  if (rights === undefined) return new ControllerRun(parts, admin, new UsedRights([]));
  const needed = rightsOf(controllers, options);
  const used = new UsedRights(needed);
  runs += 1;
  const name = `controllers-${runs}`;
  const user = `system:serviceaccount:${namespace}:${name}`;
  await grant(admin, needed, name);
  await rights.settle();
  rights.record.follow(user, { onRequest: (access) => used.use(access), onRefusal: (access) => used.refuse(access) });
  return new ControllerRun(parts, withHooks(await rights.connectAs(user), admin), used);
}

/**
 * Here too the server calls webhooks as functions, unless the option `webhooks` says otherwise. Serving them needs no rights in the API.
 */
function withHooks(client: Client, admin: ResourceClient): Client {
  return isHookHost(admin) ? Object.assign(client, { hostHooks: admin.hostHooks.bind(admin) }) : client;
}

async function grant(admin: ResourceClient, rights: readonly Right[], name: string): Promise<void> {
  const namespaces = new Set(rights.flatMap((right) => right.namespace ?? []));
  for (const place of namespaces) await createUnlessPresent(admin, Namespace, { metadata: { name: place } });
  for (const object of rolesOf(rights, { name, serviceAccount: { name, namespace } })) {
    const { kind = '', metadata } = object;
    const scope = metadata?.namespace === undefined ? 'Cluster' : 'Namespaced';
    const token: Resource = resource({ group: 'rbac.authorization.k8s.io', version: 'v1', kind, scope });
    await createUnlessPresent(admin, token, object);
  }
}

async function createUnlessPresent(admin: ResourceClient, kind: Resource, object: KubernetesObject): Promise<void> {
  try {
    await admin.create(kind, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Controllers that run; created by TestCluster.run(). */
export class ControllerRun {
  /** The client of the controllers: it has their rights and no others. */
  readonly client: ResourceClient;
  readonly manager: Manager;
  readonly #parts: ControllerRunParts;
  readonly #used: UsedRights;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #stopping: Promise<void> | undefined;

  /** Use TestCluster.run(). */
  constructor(parts: ControllerRunParts, client: ResourceClient, used: UsedRights) {
    this.client = client;
    this.#parts = parts;
    this.#used = used;
    this.manager = new Manager(parts.controllers, { ...parts.options, client });
    this.#ended = this.manager.run(this.#stop.signal);
    this.#ended.catch(() => undefined);
  }

  /** Resolves when the caches are filled. Rejects when the run ends first; TestCluster.settle() lets it continue. */
  whenReady(): Promise<void> {
    return this.manager.whenReady();
  }

  /** Resolves to lines such as ".needs(Secret, ['get'])" for the refusals so far. None for an admin. */
  async missingRights(): Promise<readonly string[]> {
    return missingLines(this.#used.missing, await this.#kinds());
  }

  /** Declared rights that nothing has used so far, such as "secrets: delete (echo needs it)". Empty for an admin. */
  get unusedRights(): readonly string[] {
    return this.#used.unused;
  }

  /** True once {@link stop} was called. */
  get isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** Ends the run. Rejects when it failed, and when a right was missing: the message has the lines to add. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return warnOfFailure(this.stop());
  }

  async #end(): Promise<void> {
    // The lines are requested before the end, because the names of kinds come from the server.
    let missing: readonly string[] = [];
    try {
      missing = await this.missingRights();
    } finally {
      this.#stop.abort(new Error('the test ended the run'));
      await this.#ended;
    }
    const { unusedRights } = this;
    if (unusedRights.length > 0)
      this.#parts.options.logger?.info('rights that nothing has used', { rights: unusedRights });
    if (missing.length === 0) return;
    throw new Error(`the controllers did what they have not declared; add to the builder:\n  ${missing.join('\n  ')}`);
  }

  /** Also finds the names of kinds that the controllers do not mention. */
  async #kinds(): Promise<ReadonlyMap<string, string>> {
    const kinds = new Map(namedKinds(this.#parts.controllers));
    const client = this.client as Partial<Pick<Client, 'raw'>>;
    for (const { group, version, plural } of this.#used.missing) {
      if (kinds.has(`${plural}.${group}`) || client.raw === undefined) continue;
      const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      for (const { name, kind } of await this.#discover(path)) kinds.set(`${name}.${group}`, kind);
    }
    return kinds;
  }

  /** Returns none when the server does not answer; a line then has the plural, which is better than no line. */
  async #discover(path: string): Promise<readonly { readonly name: string; readonly kind: string }[]> {
    const client = this.client as Client;
    try {
      const { resources } = JSON.parse((await client.raw({ path })).body) as {
        readonly resources: readonly { readonly name: string; readonly kind: string }[];
      };
      return resources;
    } catch (error) {
      this.#parts.options.logger?.info('the kinds of a group version are not known', { path, error });
      return [];
    }
  }
}
