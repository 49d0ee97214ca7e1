// ControlPlaneOptions configures a control plane; ControlPlane is a running one. Used by control-plane.ts; serve-flags.ts turns flags
// into these options.

import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { MetricsText } from '@kapstan/api/internal';
import type { ConversionFunctions, ConvertObject } from '@kapstan/apiextensions';
import type {
  AdmissionFunction,
  ApiServerOptions,
  KubeletOptions,
  ResourceDefinition,
  ShutdownOptions,
  StorageMediaType,
} from '@kapstan/apiserver';
import type { LeaderElectionTimes } from '@kapstan/controller';
import type { KeyPair } from '@kapstan/controller/certificates';
import type { RuntimeConfig } from '@kapstan/kubernetes';
import type { Engine } from '@kapstan/storage';
import type { EtcdEngineOptions } from '@kapstan/storage-etcd';
import type { ServiceAccountOptions } from '../access/access-control.ts';
import type { AdmissionOptions } from '../access/admission.ts';
import type { AuditSettings } from '../access/audit.ts';
import type { AuthorizationOption } from '../authorization/authorization-settings.ts';
import type { CertificateFiles } from '../certificates/followed-certificates.ts';
import type { EncryptionOptions } from '../encryption-config/encryption-at-rest.ts';
import type { OutsideIdentityOptions } from '../outside-identity/outside-identity-options.ts';
import type { FrontProxyOptions } from '../server-identity/front-proxy.ts';
import type { EtcdOverride } from '../store/store-engines.ts';
import type { WatchCacheOptions } from '../store/watch-cache-options.ts';

/** Settings for connections to the kubelets of nodes, for logs, exec and similar requests. */
export interface KubeletAccessOptions extends KubeletOptions {
  /** Node address types to try, in order of preference. Default: Hostname, InternalDNS, InternalIP, ExternalDNS, ExternalIP. */
  readonly addressTypes?: readonly string[] | undefined;
}

interface AggregationSettings {
  /**
   * True = only endpoints of Services are tried, neither cluster addresses nor external names; for webhooks too. Default false.
   */
  readonly endpointsOnly?: boolean | undefined;
  /** False: redirects of other API servers reach clients. Default true: they become 502. */
  readonly rejectsRedirects?: boolean | undefined;
}

/** Options of {@link startControlPlane}: its data, address, access rules and loops. */
export interface ControlPlaneOptions {
  /** Directory of the store (`store/`) and the certificates (`pki/`); created when absent. Only one process may use it at a time. */
  readonly dataDir: string;
  /**
   * A store that replaces the embedded one in `dataDir`. The caller owns and closes it. No other control plane may write to it; for a
   * cluster that several servers share, use the option `etcd`.
   */
  readonly engine?: Engine | undefined;
  /**
   * Time between compactions of the embedded store, in milliseconds; history lasts one to two intervals. 0 = never, which lets the store
   * grow until it is full. Default 300 000. For etcd, set the interval in `etcd`; a given `engine` is not compacted.
   */
  readonly compactionIntervalMs?: number | undefined;
  /** Maximum size of the embedded store in bytes, including history; beyond it creates and updates get 507. Default 8 GiB. */
  readonly quotaBytes?: number | undefined;
  /** An etcd cluster that replaces the embedded store. `dataDir` then holds only the certificates. */
  readonly etcd?: EtcdEngineOptions | undefined;
  /** Built-in resources with a separate etcd cluster, in addition to `etcd`. The last entry for a resource counts. Default none. */
  readonly etcdOverrides?: readonly EtcdOverride[] | undefined;
  /** Prefix of all keys in the store; leading and trailing slashes are ignored. Default "/registry". */
  readonly keyPrefix?: string | undefined;
  /**
   * Media type in which objects of built-in kinds are stored; all are readable. Default: protobuf with `etcd`, otherwise application/json.
   */
  readonly storageMediaType?: StorageMediaType | undefined;
  /** Encryption at rest. Default: objects are stored unencrypted, and encrypted ones cannot be read. */
  readonly encryption?: EncryptionOptions | undefined;
  /**
   * Time for which a start waits for unreadable objects, which are corrupt or lack their key, before it continues without them, in
   * milliseconds. Default 60 000.
   */
  readonly storageInitializationTimeoutMs?: number | undefined;
  /** Further settings of the server. 'off' = no server is started, and its fields (url, token, …) are empty. */
  readonly http?: 'off' | Pick<ApiServerOptions, 'onRequest' | 'maxWatchBufferBytes' | 'drainMs'> | undefined;
  /** Maximum number of bytes buffered for slow readers over all watches of one user. 0 = no limit. Default 64 MiB. */
  readonly maxUserWatchBufferBytes?: number | undefined;
  /** Maximum number of bytes buffered for slow readers over all watches of the server. 0 = no limit. Default 128 MiB. */
  readonly maxServerWatchBufferBytes?: number | undefined;
  /** Default 127.0.0.1. */
  readonly bindAddress?: string | undefined;
  /** 0 = any free port. Default 0. */
  readonly port?: number | undefined;
  /** An additional address in the serving certificate. */
  readonly advertiseAddress?: string | undefined;
  /** Users by token, as the text of a kube-apiserver token file; `fileName` appears in errors about it. */
  readonly tokens?: { readonly text: string; readonly fileName: string } | undefined;
  readonly serviceAccounts?: ServiceAccountOptions | undefined;
  /** PEM of additional authorities that sign client certificates. */
  readonly clientCa?: string | undefined;
  /** A serving certificate that replaces the generated one. */
  readonly serving?: KeyPair | undefined;
  /**
   * Files from which `serving`, `clientCa` and `frontProxy` were read. A changed file counts for new connections, authorities also for
   * requests over open ones; a broken one is logged and changes nothing. `caCert` and the authorities that control loops publish do not
   * change. Default none: nothing changes.
   */
  readonly certificateFiles?: CertificateFiles | undefined;
  /**
   * The authorizers that decide, in order: a list of modes, which may include authorizers of the embedding program, or
   * all settings. Members of system:masters may do everything before any is asked. Default RBAC alone.
   */
  readonly authorization?: AuthorizationOption | undefined;
  /** Issuers of JSON Web Tokens, or a webhook, whose users this server accepts. Default: none. */
  readonly outsideIdentity?: OutsideIdentityOptions | undefined;
  /**
   * True = requests without credentials are served, unless the configuration file of `outsideIdentity` decides this. Default true.
   */
  readonly isAnonymousAllowed?: boolean | undefined;
  /** Default: on for every resource. */
  readonly watchCache?: WatchCacheOptions | undefined;
  /** Maximum number of seconds by which a lease may outlive its object, so that objects can share leases. 0 = no sharing. Default 60. */
  readonly leaseReuseSeconds?: number | undefined;
  /** Interval at which stored objects are counted for /metrics, in milliseconds; 0 = never. Default 60 000. */
  readonly countPollMs?: number | undefined;
  /** Interval at which the size of the store is read for /metrics, in milliseconds; 0 = never. Default 30 000. */
  readonly sizePollMs?: number | undefined;
  /** Default 3600. */
  readonly eventTtlSeconds?: number | undefined;
  /**
   * True = privileged containers and Windows host process containers are allowed. Otherwise, pods and templates that request them are
   * refused. Default true: kube-apiserver's default is false, but everything that sets up clusters turns it on.
   */
  readonly allowsPrivileged?: boolean | undefined;
  /** Default 1. */
  readonly deleteCollectionWorkers?: number | undefined;
  /** False: deletions add no finalizers for the garbage collector, and it does not run. Default true. */
  readonly collectsGarbage?: boolean | undefined;
  /**
   * Admission plug-ins that are on or off, and functions of this process that admit requests like webhooks, see `admit`. A list has
   * functions alone. Default: kube-apiserver's plug-ins, no functions.
   */
  readonly admission?: AdmissionOptions | readonly AdmissionFunction[] | undefined;
  /**
   * True = requests share the server's seats by flow schemas and priority levels. False = reads and writes are only counted. Default true.
   */
  readonly hasPriorityAndFairness?: boolean | undefined;
  /**
   * With priority and fairness, this and the next number are added up to the seats of the server. Otherwise it is the maximum number of
   * concurrent reads; 0 = no limit. Default 400.
   */
  readonly maxRequestsInflight?: number | undefined;
  /** The same for writes. Default 200. */
  readonly maxMutatingRequestsInflight?: number | undefined;
  /** Maximum number of concurrent streams on one HTTP/2 connection. Default 250. */
  readonly maxConcurrentStreams?: number | undefined;
  /** Selects the recorded requests, the extent of the records, and their destination. Default: nothing. */
  readonly audit?: AuditSettings | undefined;
  /** Text of a TracingConfiguration of apiserver.config.k8s.io. Default: no request is traced. */
  readonly tracing?: string | undefined;
  /** Flags of the program, for /flagz: values by name, without secrets. Default: the path does not exist. */
  readonly flags?: ReadonlyMap<string, string> | undefined;
  /** False: /statusz does not exist. Default true. */
  readonly hasStatusz?: boolean | undefined;
  /** Maximum duration of a request other than a watch, in milliseconds; writes get at most 34 000. Default 60 000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Minimum time that a watch stays open before the server ends it, in milliseconds. Default 1 800 000. */
  readonly minWatchMs?: number | undefined;
  /** See ApiServerOptions. Default false. */
  readonly allowsUnsafeDeletion?: boolean | undefined;
  /** Fraction of requests, in [0, 1], after which an HTTP/2 client is told to reconnect, so that clients spread over servers. Default 0. */
  readonly goawayChance?: number | undefined;
  /** Time for which /livez treats control loops that are not yet ready as healthy, in milliseconds. Default 0. */
  readonly livezGraceMs?: number | undefined;
  /** The steps of a graceful stop. Default: the server stops at once. */
  readonly shutdown?: ShutdownOptions | undefined;
  /** Default 10.96.0.0/16. */
  readonly serviceClusterIpRange?: string | undefined;
  readonly kubelet?: KubeletAccessOptions | undefined;
  /**
   * Turns built-in APIs on or off, as kube-apiserver's flag does: keys such as "apps/v1", "apps/v1/deployments", "/v1" or "api/beta",
   * values "true" or "false". The server itself can still use all of them. Default: stable versions on, all others off.
   */
  readonly runtimeConfig?: RuntimeConfig | undefined;
  /**
   * Says who maintains the endpoints of the service "kubernetes" in "default". The service, and the ServiceCIDR of the same name, are
   * created when missing. 'lease': this server together with the others on its etcd. 'none': somebody else. 'off': neither object is
   * created. Always 'off' without HTTP. Default 'off'.
   */
  readonly endpointReconciler?: 'off' | 'none' | 'lease' | undefined;
  /**
   * The objects in "kube-system" that describe this server. 'on': a Lease, renewed every 10 s and deleted at the end, and the config maps
   * extension-apiserver-authentication and kube-apiserver-legacy-service-account-token-tracking, without which kube-controller-manager
   * complains; Leases of servers that are gone are deleted every hour. 'without lease': only the config maps, so that an idle server writes
   * nothing. Always 'off' without HTTP. Default 'off'.
   */
  readonly identity?: 'off' | 'without lease' | 'on' | undefined;
  /**
   * True = the server keeps an APIService for each group version that it serves, reports the availability of all APIServices, and passes
   * requests on for those that name a Service. Always false without HTTP. Default false.
   */
  readonly registersApiServices?: boolean | undefined;
  /** Settings for passing requests on to other API servers. Used with `registersApiServices`. */
  readonly aggregation?: AggregationSettings | undefined;
  /**
   * Proxies whose headers may name the user, and the certificate of this server's own proxy. Default: certificates that the server makes
   * itself.
   */
  readonly frontProxy?: FrontProxyOptions | undefined;
  /**
   * True = clients get a warning when they create or change objects on which nothing in this server acts (horizontal pod autoscalers,
   * network policies). Default false.
   */
  readonly warnsWithoutEffect?: boolean | undefined;
  /**
   * Kinds of the program, made by `schemaResource` of @kapstan/apiserver, each in one version, under names that no other kind of the group
   * has. Clients, admission and control loops treat them as custom resources; a definition of the same name is not served. Default none.
   */
  readonly kinds?: readonly ResourceDefinition[] | undefined;
  /**
   * Functions that convert custom resources between versions, by name of the definition ("widgets.example.com"). Such a function is called
   * in place of the definition's own conversion, so neither webhook nor certificate is needed. Default none.
   */
  readonly conversions?: Readonly<Record<string, ConvertObject>> | ConversionFunctions | undefined;
  /**
   * Names of control loops, as in kube-controller-manager; "*" = all, "-name" = all except this one. Default none. Without HTTP there is no
   * authority to publish and nothing that accepts tokens, so root-ca-certificate-publisher-controller and serviceaccount-token-controller
   * are left out. With `etcd` only one of the servers runs the loops, see `leaderElection`; the published authority and the key that signs
   * tokens in Secrets then belong to that server.
   */
  readonly controlLoops?: readonly string[] | undefined;
  /**
   * With `etcd`, the servers elect one of them to run the control loops: the holder of the Lease kube-system/kapstan-control-loops. 'off' =
   * this server runs them in any case. Default: client-go's times. Without `etcd` there is no election.
   */
  readonly leaderElection?: 'off' | LeaderElectionTimes | undefined;
  /**
   * Serves the inspector at /inspect/ of this server: caches, watchers, requests under way and slow ones, the store; as a page, as JSON and
   * live. The authorizer decides who may read these paths: members of system:masters, and users with a rule for the non-resource URL
   * "/inspect/*". With a port, 0 = any free one, it is also served over plain HTTP at 127.0.0.1, to browsers with `inspectorUrl`. Default
   * false.
   */
  readonly inspect?: boolean | { readonly port: number } | undefined;
  /** Freezes the objects that caches share, so that a change fails where it is made. For tests. Default false. */
  readonly freeze?: boolean | undefined;
  /** Metrics that /metrics shows in addition to the server's own, such as a registry of prom-client. Default none. */
  readonly metrics?: readonly MetricsText[] | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
  /** Called when the store has failed for good, so that the process should end. Default: nothing. */
  readonly onFatal?: ((error: unknown) => void) | undefined;
  /** Cancels a start in progress at its next step. Has no effect once it has started. */
  readonly signal?: AbortSignal | undefined;
}

/** A running control plane: an API server on its store, and control loops. */
export interface ControlPlane {
  readonly url: string;
  readonly port: number;
  /** PEM that clients have to trust, and the file that holds it: the server's own authority, or the serving certificate passed in. */
  readonly caCert: string;
  readonly caFile: string;
  /** Bearer token of an admin in system:masters; a new one at each start. */
  readonly token: string;
  /** URL for a browser on this machine, with a token that is made at each start; "" unless `inspect` has a port. */
  readonly inspectorUrl: string;
  /** Text of a kubeconfig for the admin. */
  readonly kubeconfig: string;
  /** Reads and writes as an admin, without HTTP. */
  readonly client: ResourceClient;
  /** Ends watches, waits for requests, closes the store. Idempotent. */
  close(): Promise<void>;
}
