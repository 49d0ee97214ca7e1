// Options of testCluster() and their checks. Used by test-cluster.ts.
import { inspect } from 'node:util';
import { type KubernetesObject, type Logger, silentLogger } from '@kapstan/api';
import { requireLogger, requireObject } from '@kapstan/api/internal';
import { isLmdbAvailable } from '@kapstan/storage-lmdb';
import type { ServerSettings } from './running-server.ts';

/** Options of {@link testCluster}. */
export interface TestClusterOptions {
  /** 'virtual': time stands still until {@link TestCluster.advance} moves it. 'real': the system's time. Default 'virtual'. */
  readonly clock?: 'virtual' | 'real';
  /**
   * Says where the cluster keeps its objects. 'lmdb': in the engine of `kapstan serve`, in a temporary folder. 'memory': in this process,
   * without a native module; for small tests, since each list sorts all keys. Default 'lmdb', and 'memory' with a warning where LMDB has no
   * binary.
   */
  readonly store?: 'lmdb' | 'memory';
  /** 'off': no port and no certificates, only the in-process client. Default 'on'. */
  readonly http?: 'on' | 'off';
  /**
   * Says how {@link TestCluster.run} runs controllers. 'controller': as a service account with only the rights that they declare, checked
   * by RBAC, so that a missing one fails the test. 'admin': with all rights. Default 'admin'.
   */
  readonly as?: 'admin' | 'controller';
  /** Custom resource definitions to install; they are served once `testCluster` resolves. */
  readonly crds?: readonly KubernetesObject[];
  /** Functions that convert custom resources between versions, by name of the definition; see ControlPlaneOptions. Default none. */
  readonly conversions?: NonNullable<ServerSettings['conversions']>;
  /** Any other options of a control plane: tokens, admission, control loops, limits. Privileged containers are allowed, as in envtest. */
  readonly controlPlane?: Omit<ServerSettings, 'http'>;
  /** Maximum number of bytes of events that wait for a slow watcher. Default: the server's. */
  readonly maxWatchBufferBytes?: number;
  /** Default: silent. */
  readonly logger?: Logger;
}

/** Throws TypeError for an option that is wrong. */
export function requireOptions(options: TestClusterOptions): void {
  requireObject(options, 'options of testCluster()');
  const { clock = 'virtual', http = 'on', crds = [], controlPlane = {} } = options;
  if (clock !== 'virtual' && clock !== 'real')
    throw new TypeError(`clock must be 'virtual' or 'real', not ${inspect(clock)}`);
  const { store = 'lmdb' } = options;
  if (store !== 'lmdb' && store !== 'memory')
    throw new TypeError(`store must be 'lmdb' or 'memory', not ${inspect(store)}`);
  if (http !== 'on' && http !== 'off') throw new TypeError(`http must be 'on' or 'off', not ${inspect(http)}`);
  if (!Array.isArray(crds)) throw new TypeError(`crds must be a list of definitions, not ${inspect(crds)}`);
  const { as = 'admin' } = options;
  if (as !== 'admin' && as !== 'controller')
    throw new TypeError(`as must be 'admin' or 'controller', not ${inspect(as)}`);
  if (as === 'controller' && http === 'off')
    throw new TypeError("as: 'controller' needs HTTP, where requests are authorized");
  requireObject(controlPlane, 'controlPlane');
  requireLogger(options.logger);
}

/** Returns whether the cluster keeps its objects in memory. Warns when only the missing binary of LMDB decides so. */
export function storesInMemory({ store, logger = silentLogger }: TestClusterOptions): boolean {
  if (store !== undefined || isLmdbAvailable()) return store === 'memory';
  logger.warn('LMDB has no binary here; the test cluster keeps its objects in memory');
  return true;
}
