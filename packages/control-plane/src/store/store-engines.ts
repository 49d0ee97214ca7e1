// StoreEngines: the stores of a control plane, one for all resources and separate ones for some built-in resources
// (`--etcd-servers-overrides`). Opened by control-plane.ts, used by resources.ts.
import { join, resolve } from 'node:path';
import type { Clock, GroupResource, Logger } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import type { ResourceDefinition } from '@kapstan/apiserver';
import type { Engine } from '@kapstan/storage';
import type { EtcdEngineOptions } from '@kapstan/storage-etcd';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { makeDirectory } from '../certificates/make-directory.ts';
import type { Closers } from '../lifetime/closers.ts';
import { StartError, startingWith } from '../lifetime/start-error.ts';

export interface StoreEngines {
  readonly main: Engine;
  /** Every engine once, starting with the main one. */
  readonly all: readonly Engine[];
  /** Returns the engine that stores the objects of a resource. */
  engineFor(definition: Pick<ResourceDefinition, 'group' | 'resource' | 'isCustom'>): Engine;
}

/** A resource with a separate etcd cluster. */
export interface EtcdOverride extends GroupResource {
  /** Servers of that cluster; all other settings are the main cluster's. */
  readonly endpoints: readonly string[];
}

interface Ports {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** See the options of the control plane. */
export interface StoreEnginesOptions {
  readonly dataDir: string;
  readonly engine?: Engine | undefined;
  readonly quotaBytes?: number | undefined;
  readonly etcd?: EtcdEngineOptions | undefined;
  readonly etcdOverrides?: readonly EtcdOverride[] | undefined;
  readonly keyPrefix?: string | undefined;
  readonly onFatal?: ((error: unknown) => void) | undefined;
}

/**
 * Opens the engines that the options name. `closers` receives each of them, even when a later one fails to open. The caller
 * still owns an engine that it passed in.
 */
export async function openStoreEngines(
  options: StoreEnginesOptions,
  { closers, ...ports }: Ports & { readonly closers: Closers },
): Promise<StoreEngines> {
  const { engine, etcd, etcdOverrides = [] } = options;
  if (etcdOverrides.length > 0 && (etcd === undefined || engine !== undefined)) {
    throw new StartError('etcdOverrides', {
      cause: 'a resource can have its own etcd cluster only when the store is an etcd cluster',
    });
  }
  const keep = (opened: Engine): Engine => {
    closers.add('store', () => opened.close());
    return opened;
  };
  const main =
    engine ?? keep(etcd === undefined ? await openEmbedded(options, ports) : await openMain(options, etcd, ports));
  const byServers = new Map<string, Engine>();
  const byResource = new Map<string, Engine>();
  for (const override of etcdOverrides) {
    const servers = override.endpoints.join(';');
    const opened =
      byServers.get(servers) ??
      keep(
        await startingWith('etcdOverrides', () =>
          openEtcd({ ...etcd, endpoints: override.endpoints }, { ...options, ...ports }),
        ),
      );
    byServers.set(servers, opened);
    byResource.set(formatGroupResource(override), opened);
  }
  return {
    main,
    all: [main, ...new Set(byResource.values())],
    engineFor: (definition) => (definition.isCustom ? undefined : byResource.get(storedUnder(definition))) ?? main,
  };
}

/** Returns the stored name of a resource. Events are one kind with two names, stored under the older. Source: AddCohabitatingResources. */
function storedUnder(definition: GroupResource): string {
  const name = formatGroupResource(definition);
  return name === 'events.events.k8s.io' ? 'events' : name;
}

function openEmbedded({ dataDir, onFatal, quotaBytes }: StoreEnginesOptions, ports: Ports): Promise<Engine> {
  return startingWith('dataDir', async () => {
    await makeDirectory(dataDir);
    return openLmdbEngine({
      dataDir: join(resolve(dataDir), 'store'),
      ...ports,
      ...(onFatal && { onFatal }),
      ...(quotaBytes !== undefined && { quotaBytes }),
    });
  });
}

function openMain(options: StoreEnginesOptions, etcd: EtcdEngineOptions, ports: Ports): Promise<Engine> {
  return startingWith('etcd', () => openEtcd(etcd, { ...options, ...ports }));
}

/** Time after which a log line names what the start is waiting for. */
const sayWaitingMs = 2_000;

async function openEtcd(
  etcd: EtcdEngineOptions,
  { keyPrefix, clock, logger }: Ports & Pick<StoreEnginesOptions, 'keyPrefix'>,
): Promise<Engine> {
  const servers = etcd.endpoints.join(', ');
  const told = clock.setBackgroundTimer(() => logger.warn('waiting for etcd', { servers }), sayWaitingMs);
  try {
    const { openEtcdEngine } = await import('@kapstan/storage-etcd');
    return await openEtcdEngine({ clock, logger, ...(keyPrefix !== undefined && { prefix: keyPrefix }), ...etcd });
  } finally {
    told();
  }
}
