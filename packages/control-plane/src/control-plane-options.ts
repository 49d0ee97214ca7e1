// ControlPlaneOptions: all that a control plane can be told, and ControlPlane: what it is then. For control-plane.ts; the flags of
// serve-flags.ts become these.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { ApiServerOptions, KubeletOptions, ShutdownOptions, StorageMediaType } from '@kapstan/apiserver';
import type { LeaderElectionTimes } from '@kapstan/controller';
import type { RuntimeConfig } from '@kapstan/kubernetes';
import type { Engine } from '@kapstan/storage';
import type { EtcdEngineOptions } from '@kapstan/storage-etcd';
import type { Registry } from 'prom-client';
import type { AuthorizationMode, ServiceAccountOptions } from './access-control.ts';
import type { AuditSettings } from './audit.ts';
import type { KeyPair } from './certificates/key-pair.ts';
import type { EncryptionOptions } from './encryption-config/encryption-at-rest.ts';
import type { WatchCacheOptions } from './resources.ts';
import type { EtcdOverride } from './store/store-engines.ts';

/** How the kubelets of nodes are reached, for logs, exec and the like. */
export interface KubeletAccessOptions extends KubeletOptions {
  /** Types of node addresses, the best first. Default: Hostname, InternalDNS, InternalIP, ExternalDNS, ExternalIP. */
  readonly addressTypes?: readonly string[];
}

export interface ControlPlaneOptions {
  /** Directory of the store (`store/`) and of the certificates (`pki/`); made when absent. One process at a time. */
  readonly dataDir: string;
  /**
   * A store in place of the embedded one in `dataDir`; it stays its owner's and is not closed. No other control plane may
   * write to it: for an etcd that several share there is the option `etcd`.
   */
  readonly engine?: Engine;
  /**
   * Time between two compactions of the embedded store, in milliseconds; history lasts one to two of these. 0 = none, which
   * lets the store grow until it is full. Default 300 000. An etcd has its own, in `etcd`; a given `engine` has none.
   */
  readonly compactionIntervalMs?: number;
  /** Largest amount of data and history in the embedded store, in bytes: beyond it creates and updates get 507. Default 8 GiB. */
  readonly quotaBytes?: number;
  /** An etcd cluster in place of the embedded store. `dataDir` then holds the certificates alone. */
  readonly etcd?: EtcdEngineOptions;
  /** Built-in resources that have an etcd cluster of their own, beside `etcd`. Of two for one resource the later. Default none. */
  readonly etcdOverrides?: readonly EtcdOverride[];
  /** What all keys of the store begin with; slashes at its ends do not count. Default "/registry". */
  readonly keyPrefix?: string;
  /** How objects of the built-in kinds are written; every form is read. Default: protobuf with `etcd`, else application/json. */
  readonly storageMediaType?: StorageMediaType;
  /** Encryption at rest. Default: objects are stored in the clear, and encrypted ones cannot be read. */
  readonly encryption?: EncryptionOptions;
  /**
   * How long a start waits for objects that cannot be read, as they are corrupt or no key is at hand for them, before it goes
   * on without them, in milliseconds. Default 60 000.
   */
  readonly storageInitializationTimeoutMs?: number;
  /** Further settings of the server; 'off' = none is started, and what belongs to it (url, token, …) is empty. */
  readonly http?: 'off' | Pick<ApiServerOptions, 'onRequest' | 'maxWatchBufferBytes' | 'drainMs'>;
  /** Bytes that may wait in all watches of one user for clients that do not read. 0 = no bound. Default 64 MiB. */
  readonly maxUserWatchBufferBytes?: number;
  /** Bytes that may wait in all watches of the server. 0 = no bound. Default 128 MiB. */
  readonly maxServerWatchBufferBytes?: number;
  /** Default 127.0.0.1. */
  readonly bindAddress?: string;
  /** 0 = any free one. Default 0. */
  readonly port?: number;
  /** Another address in the serving certificate. */
  readonly advertiseAddress?: string;
  /** Users by token, as the text of a kube-apiserver token file; `fileName` is for its errors. */
  readonly tokens?: { readonly text: string; readonly fileName: string };
  readonly serviceAccounts?: ServiceAccountOptions;
  /** PEM of further authorities that sign client certificates. */
  readonly clientCa?: string;
  /** Serving certificate in place of the own one. */
  readonly serving?: KeyPair;
  /** Asked in this order, after system:masters, who may do everything. 'AlwaysAllow' lets everybody. Default RBAC alone. */
  readonly authorization?: readonly AuthorizationMode[];
  /** Default true. */
  readonly isAnonymousAllowed?: boolean;
  /** Default: on for every resource. */
  readonly watchCache?: WatchCacheOptions;
  /** Most seconds by which a lease may outlive its object, so that others share it. 0 = none is shared. Default 60. */
  readonly leaseReuseSeconds?: number;
  /** Time between two counts of the stored objects for /metrics, in milliseconds; 0 = none. Default 60 000. */
  readonly countPollMs?: number;
  /** Time between two looks at the size of the store for /metrics, in milliseconds; 0 = none. Default 30 000. */
  readonly sizePollMs?: number;
  /** Default 3600. */
  readonly eventTtlSeconds?: number;
  /**
   * Whether containers may be privileged, and processes of a Windows host; when not, pods and templates that ask for it are
   * refused. Default true: kube-apiserver refuses them unless it is told otherwise, which all that start clusters do.
   */
  readonly allowsPrivileged?: boolean;
  /** Default 1. */
  readonly deleteCollectionWorkers?: number;
  /** False: deletions leave no finalizers for the garbage collector, and it does not run. Default true. */
  readonly collectsGarbage?: boolean;
  readonly admission?: { readonly enabled: readonly string[]; readonly disabled: readonly string[] };
  /** 0 = no limit. Default 400. */
  readonly maxRequestsInflight?: number;
  /** 0 = no limit. Default 200. */
  readonly maxMutatingRequestsInflight?: number;
  /** Requests at once on one HTTP/2 connection. Default 250. */
  readonly maxConcurrentStreams?: number;
  /** What is recorded of requests, and where. Default: nothing. */
  readonly audit?: AuditSettings;
  /** Longest time for a request that is no watch, in milliseconds; writes get at most 34 000. Default 60 000. */
  readonly requestTimeoutMs?: number;
  /** Shortest time after which a watch is ended, in milliseconds. Default 1 800 000. */
  readonly minWatchMs?: number;
  /** See ApiServerOptions. Default false. */
  readonly allowsUnsafeDeletion?: boolean;
  /** Share of requests, in [0, 1], after which an HTTP/2 client is asked to connect anew: clients move on to other servers. Default 0. */
  readonly goawayChance?: number;
  /** How long /livez takes control loops that have not come up yet for healthy, in milliseconds. Default 0. */
  readonly livezGraceMs?: number;
  /** The steps in which the server stops. Default: none but the end. */
  readonly shutdown?: ShutdownOptions;
  /** Default 10.96.0.0/16. */
  readonly serviceClusterIpRange?: string;
  readonly kubelet?: KubeletAccessOptions;
  /**
   * Built-in APIs that clients find or not, as the flag of kube-apiserver has it: "apps/v1", "apps/v1/deployments", "/v1", "api/beta"
   * … → "true" or "false". The server itself goes on using all of them. Default: stable versions are on, all others off.
   */
  readonly runtimeConfig?: RuntimeConfig;
  /**
   * Who keeps the endpoints of the service "kubernetes" in "default", which is made when it is not there, as is the ServiceCIDR of the
   * same name. 'lease': this server, with the others on its etcd. 'none': nobody here. 'off': neither of the two is made. Without
   * HTTP it is 'off'. Default 'off'.
   */
  readonly endpointReconciler?: 'off' | 'none' | 'lease';
  /**
   * What the server keeps of itself in "kube-system" for others to find. 'on': a Lease of its own, renewed every 10 s and taken away at
   * the end, and the config maps extension-apiserver-authentication and kube-apiserver-legacy-service-account-token-tracking, without
   * which a kube-controller-manager complains; leases of servers that are gone are removed every hour. 'without lease': the config maps
   * alone, so that nothing is written while nobody asks. Without HTTP it is 'off'. Default 'off'.
   */
  readonly identity?: 'off' | 'without lease' | 'on';
  /**
   * Whether the server keeps an APIService for each version of a group that it serves, and says of all APIServices whether they are
   * available. Without HTTP it does not. Default false.
   */
  readonly registersApiServices?: boolean;
  /**
   * Whether whoever creates or changes what this server keeps without enforcing it (webhook configurations, admission policies,
   * quotas, limit ranges) is told so in a warning. Default false.
   */
  readonly warnsWithoutEffect?: boolean;
  /**
   * Names of control loops, as kube-controller-manager has them; "*" = all, "-name" = but this one. Default none. Without
   * HTTP there is no authority to publish and nobody to take tokens, so root-ca-certificate-publisher-controller and
   * serviceaccount-token-controller are left out. With `etcd` they run in one of the servers on it, see `leaderElection`; which
   * authority is published, and whose key signs tokens that are kept in Secrets, is then that of the server that runs them.
   */
  readonly controlLoops?: readonly string[];
  /**
   * With `etcd`: of the servers on it that have control loops, the holder of the Lease kube-system/kapstan-control-loops runs
   * them. 'off' = this one runs them whatever others do. Default: client-go's times. Without `etcd` there is nobody else.
   */
  readonly leaderElection?: 'off' | LeaderElectionTimes;
  /** Freezes the objects that caches share, so that a change fails where it is made. For tests. Default false. */
  readonly freeze?: boolean;
  /** What /metrics shows beside the server's own numbers. Default none. */
  readonly metrics?: readonly Pick<Registry, 'metrics'>[];
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** The store failed for good: end the process. Default: nothing. */
  readonly onFatal?: (error: unknown) => void;
  /** Gives up a start that is under way, at its next step. Says nothing once it has started. */
  readonly signal?: AbortSignal;
}

export interface ControlPlane {
  readonly url: string;
  readonly port: number;
  /** PEM that clients have to trust, and the file that holds it: of the own authority, or the serving certificate that was given. */
  readonly caCert: string;
  readonly caFile: string;
  /** Bearer token of an admin in system:masters, new at each start. */
  readonly token: string;
  /** Text of an admin kubeconfig. */
  readonly kubeconfig: string;
  /** Reads and writes as an admin without HTTP. */
  readonly client: ResourceClient;
  /** Ends watches, lets requests end, closes the store. Idempotent. */
  close(): Promise<void>;
}
