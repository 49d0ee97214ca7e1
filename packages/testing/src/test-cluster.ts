// testCluster(): a whole control plane inside the test process, with its own store, certificates and time, and faults on demand.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Clock,
  type KubernetesObject,
  type Resource,
  type ResourceClient,
  silentLogger,
  systemClock,
  type UnstructuredObject,
} from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { type AdmissionFunction, type AdmissionFunctionOptions, AdmissionFunctions, admit } from '@kapstan/apiserver';
import type { Client, ClientOptions, Impersonation } from '@kapstan/client';
import { type AdmissionOptions, authorizationSettingsOf, ConversionFunctions } from '@kapstan/control-plane';
import { type Controller, installControllers } from '@kapstan/controller';
import { MemoryEngine } from '@kapstan/storage';
import { AccessRecord } from './access-record.ts';
import { Activity } from './activity.ts';
import type { ByteProxy } from './byte-proxy.ts';
import { requestObserver, startClusterProxy } from './cluster-proxy.ts';
import type { ControllerRun, ControllerRunOptions } from './controller-run.ts';
import { installCrds } from './custom-resources.ts';
import { warnOfFailure } from './disposal-warning.ts';
import { type ActiveFault, type Fault, Faults, requireFault } from './fault.ts';
import { HostedHooks } from './hosted-hooks.ts';
import { type RunningServer, type ServerSettings, startServer } from './running-server.ts';
import { TestClient } from './test-client.ts';
import { requireOptions, storesInMemory, type TestClusterOptions } from './test-cluster-options.ts';

/** Functions that {@link TestCluster.admit} installed. */
export interface AdmissionHandle {
  /** Ends it with the next request. Idempotent. */
  remove(): void;
}

/** Options of `cluster.connect`. */
export interface ClusterConnectOptions extends ClientOptions {
  /** Acts as another user than the admin. */
  readonly impersonate?: Impersonation;
}

/**
 * Resolves when requests are answered and all definitions are established. Rejects with everything closed again, and with TypeError for bad
 * options.
 */
export async function testCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  requireOptions(options);
  const cluster = new TestCluster(options, await mkdtemp(join(tmpdir(), 'kapstan-test-cluster-')));
  try {
    await cluster.start();
    await installCrds(cluster.client, options.crds ?? []);
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

type Admission = ServerSettings['admission'];

function isList(admission: Admission): admission is readonly AdmissionFunction[] {
  return Array.isArray(admission);
}

function flagsOf(admission: Admission): Omit<AdmissionOptions, 'functions'> {
  if (admission === undefined || isList(admission)) return {};
  const { functions: _functions, ...flags } = admission;
  return flags;
}

/** Functions from the options run together with the functions of {@link TestCluster.admit}. */
function functionsOf({ controlPlane: { admission } = {} }: TestClusterOptions, clock: Clock): AdmissionFunctions {
  const functions = isList(admission) ? admission : (admission?.functions ?? []);
  return functions instanceof AdmissionFunctions ? functions : new AdmissionFunctions(functions, clock);
}

/** A running test cluster; created by {@link testCluster}. */
export class TestCluster {
  /** The clock of the cluster: of its server, store and clients. */
  readonly clock: Clock;
  /** Reads and writes as an admin, without HTTP; keeps working across stops and starts of the server. Cached objects are frozen. */
  readonly client: ResourceClient;
  readonly #options: TestClusterOptions;
  readonly #dataDir: string;
  readonly #virtualClock: VirtualClock | undefined;
  readonly #memory: MemoryEngine | undefined;
  readonly #activity = new Activity();
  readonly #admission: AdmissionFunctions;
  readonly #conversions: ConversionFunctions;
  readonly #testClient: TestClient;
  readonly #hooks: HostedHooks;
  readonly #faults = new Faults();
  readonly #clients = new Set<Client>();
  readonly #access = new AccessRecord();
  readonly #runs = new Set<ControllerRun>();
  #server: RunningServer | undefined;
  #proxy: ByteProxy | undefined;
  #kubeconfig = '';
  #closing: Promise<void> | undefined;

  /** Use {@link testCluster}. */
  constructor(options: TestClusterOptions, dataDir: string) {
    this.#options = options;
    this.#dataDir = dataDir;
    // Virtual time begins at the real date, because TLS checks certificates against the real date.
    this.#virtualClock = options.clock === 'real' ? undefined : new VirtualClock({ startMs: systemClock.now() });
    this.clock = this.#virtualClock ?? systemClock;
    this.#memory = storesInMemory(options) ? new MemoryEngine({ clock: this.clock }) : undefined;
    this.#admission = functionsOf(options, this.clock);
    const { conversions } = options;
    this.#conversions = conversions instanceof ConversionFunctions ? conversions : new ConversionFunctions(conversions);
    this.#hooks = new HostedHooks({ admission: this.#admission, conversions: this.#conversions });
    this.#testClient = new TestClient({
      target: () => this.#server?.controlPlane.client,
      faults: this.#faults,
      activity: this.#activity,
      clock: this.clock,
      hooks: this.#hooks,
    });
    this.client = this.#testClient;
  }

  /** URL of the HTTPS port, through the proxy. Throws TypeError without HTTP. */
  get url(): string {
    return `https://127.0.0.1:${this.#requireProxy().port}`;
  }

  /** Text of an admin kubeconfig for {@link url}. Throws TypeError without HTTP. */
  get kubeconfig(): string {
    this.#requireProxy();
    return this.#kubeconfig;
  }

  /** The proxy that all HTTP clients use. Throws TypeError without HTTP. */
  get proxy(): ByteProxy {
    return this.#requireProxy();
  }

  /** True while the server is running. */
  get isRunning(): boolean {
    return this.#server !== undefined;
  }

  /** Returns a client over HTTP, as an admin, on the cluster's clock. It is closed with the cluster. */
  async connect({ impersonate, ...options }: ClusterConnectOptions = {}): Promise<Client> {
    const { kubeconfig } = this;
    // HTTP is imported only here, because it is half of this package's code, and tests that stay in process do not need
    // it.
    const { Client, clientConfigOf, parseKubeconfig } = await import('@kapstan/client');
    const config = clientConfigOf(parseKubeconfig(kubeconfig));
    const client = new Client(
      { ...config, proxyUrl: '', impersonate: impersonate ?? config.impersonate },
      { clock: this.clock, ...options },
    );
    this.#clients.add(client);
    await client.prepare();
    return client;
  }

  /**
   * Runs controllers, as `run` of `@kapstan/controller` does, on the cluster's clock, until `stop()` or the end of the cluster. With
   * `as: 'controller'` both reject when a right was missing.
   */
  async run(
    ...controllersAndOptions: readonly [...Controller[], ControllerRunOptions] | readonly Controller[]
  ): Promise<ControllerRun> {
    const all: readonly (Controller | ControllerRunOptions)[] = controllersAndOptions;
    const controllers = all.filter((one): one is Controller => 'reconcile' in one);
    const [options = {}] = all.filter((one): one is ControllerRunOptions => !('reconcile' in one));
    const { startControllers } = await import('./controller-run.ts');
    const run = await startControllers({
      controllers,
      options: { clock: this.clock, logger: this.#options.logger ?? silentLogger, ...options },
      admin: this.client,
      rights:
        this.#options.as === 'controller'
          ? {
              record: this.#access,
              connectAs: (user) => this.connect({ impersonate: { user } }),
              settle: () => this.settle(),
            }
          : undefined,
    });
    this.#runs.add(run);
    return run;
  }

  /**
   * Resolves when nothing more happens by itself: no store operation, request or in-process call is in progress, and no byte, event or
   * request has arrived for 16 turns of the event loop. A request that waits for time to pass (nothing happens for 50 real milliseconds)
   * does not count. Time does not move. Your own work that uses none of these, such as reading files, is not seen.
   */
  settle(): Promise<void> {
    return this.#activity.settle();
  }

  /**
   * Moves virtual time forward by `ms` milliseconds, from timer to timer, and settles after each, so that everything a timer causes, also
   * over sockets, is done before the next one runs. Throws TypeError with a real clock.
   */
  async advance(ms: number): Promise<void> {
    const clock = this.#virtualClock;
    if (clock === undefined) throw new TypeError("advance requires the option clock: 'virtual'");
    if (!(ms >= 0)) throw new TypeError(`time cannot be moved by ${ms} ms`);
    const untilMs = clock.monotonicNow() + ms;
    await this.settle();
    for (;;) {
      const leftMs = untilMs - clock.monotonicNow();
      const nextMs = clock.msToNextTimer;
      await clock.advance(nextMs === undefined ? leftMs : Math.min(leftMs, Math.max(0, nextMs)));
      await this.settle();
      if (nextMs === undefined || nextMs > leftMs) return;
    }
  }

  /** Starts a fault, see {@link Fault}. Resolves when it is in effect. Rejects with TypeError for an invalid fault. */
  async fault(fault: Fault): Promise<ActiveFault> {
    requireFault(fault);
    switch (fault.kind) {
      case 'lag': {
        const { engine } = this.#requireServer();
        engine.hold();
        return { heal: async () => engine.release() };
      }
      case '410':
        await this.#requireServer().engine.loseHistory();
        return { heal: async () => undefined };
      case 'refuse': {
        const refusal = this.#faults.add(fault);
        this.#proxy?.stopListening();
        const heal = async (): Promise<void> => {
          await refusal.heal();
          if (this.isRunning && !this.#faults.isRefusing) await this.#proxy?.listen();
        };
        return { heal };
      }
      default:
        return this.#faults.add(fault);
    }
  }

  /**
   * Lets functions of the test admit requests about a resource, as webhooks would; "*" = requests about everything. They take effect at
   * once and survive a restart, until they are removed. Throws TypeError for options without `mutate` and `validate`.
   */
  admit<T extends KubernetesObject = UnstructuredObject>(
    resource: Resource<T> | '*',
    options: AdmissionFunctionOptions<T>,
  ): AdmissionHandle {
    return { remove: this.#admission.add(admit(resource, options)) };
  }

  /**
   * Lets the webhooks of controllers (`defaults`, `validates`, `converts`) act as functions, without HTTP and without a
   * manager, and installs the definitions of their kinds. A manager on {@link client} does this by itself. Rejects with
   * TypeError for two webhooks of one name.
   */
  async install(...controllers: readonly Controller[]): Promise<AdmissionHandle> {
    const options = { client: this.#testClient, clock: this.clock, logger: this.#options.logger ?? silentLogger };
    return { remove: await installControllers(controllers, options) };
  }

  /** Stops the server as SIGTERM does: watches end, requests finish, then nobody listens. The data stay. Idempotent. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    this.#proxy?.stopListening();
    const closed = server.close();
    await this.settle();
    this.#proxy?.cut();
    await closed;
  }

  /** Starts the server again after {@link stop}, with its data, at the same address. Does nothing while it runs. */
  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const { http = 'on', controlPlane = {}, maxWatchBufferBytes, logger = silentLogger } = this.#options;
    const onRequest = requestObserver({
      proxy: () => this.#proxy,
      faults: this.#faults,
      activity: this.#activity,
    });
    const server = await startServer({
      dataDir: this.#dataDir,
      memory: this.#memory,
      settings: {
        ...controlPlane,
        authorization: this.#authorization,
        admission: { ...flagsOf(controlPlane.admission), functions: this.#admission },
        conversions: this.#conversions,
        http: http === 'off' ? 'off' : { maxWatchBufferBytes, onRequest },
      },
      clock: this.clock,
      logger,
      activity: this.#activity,
    });
    this.#server = server;
    if (http === 'on') await this.#listen(server);
  }

  /** Closes the cluster's clients, server and store, and deletes the data. Rejects when the store is not consistent. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return warnOfFailure(this.close());
  }

  async #close(): Promise<void> {
    // A test that stopped a run has seen how it ended.
    const left = [...this.#runs].filter((run) => !run.isStopping);
    const runs = await Promise.allSettled(left.map((run) => run.stop()));
    await this.#closeServer();
    const failed = runs.find((run) => run.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #closeServer(): Promise<void> {
    try {
      await Promise.all([...this.#clients].map((client) => client.close()));
      // Held connections would keep requests, and therefore the server, waiting.
      await this.#proxy?.close();
      await this.#server?.close();
    } finally {
      this.#server = undefined;
      await this.#memory?.close();
      await rm(this.#dataDir, { recursive: true, force: true });
    }
  }

  get #authorization(): ServerSettings['authorization'] {
    const { as, controlPlane: { authorization } = {} } = this.#options;
    if (as !== 'controller') return authorization;
    const { modes = ['RBAC'], ...settings } = authorizationSettingsOf(authorization);
    return { ...settings, modes: [this.#access.first, ...modes, this.#access.last] };
  }

  async #listen({ controlPlane }: RunningServer): Promise<void> {
    this.#proxy ??= await startClusterProxy({
      targetPort: () => this.#server?.controlPlane.port ?? controlPlane.port,
      clock: this.clock,
      faults: this.#faults,
      activity: this.#activity,
    });
    if (!this.#faults.isRefusing) await this.#proxy.listen();
    this.#kubeconfig = controlPlane.kubeconfig.replaceAll(controlPlane.url, this.url);
  }

  #requireProxy(): ByteProxy {
    if (this.#proxy === undefined) throw new TypeError("this cluster was created with http: 'off'");
    return this.#proxy;
  }

  #requireServer(): RunningServer {
    if (this.#server === undefined) throw new TypeError('the server of this cluster is stopped');
    return this.#server;
  }
}
