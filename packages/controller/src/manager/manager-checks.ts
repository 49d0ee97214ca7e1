// Checks a manager's arguments before it makes anything: a wrong option is a TypeError that names it. Used by
// manager.ts and run.ts; controller-builder.ts has checked the controllers.
import { inspect } from 'node:util';
import { dnsLabelErrors } from '@kapstan/api/errors';
import {
  checkedElsewhere,
  type OptionTable,
  objectWith,
  optional,
  requireBoolean,
  requireClock,
  requireFunction,
  requireKnownOptions,
  requireLogger,
  requireNotNegative,
  requireObject,
  requireOptions,
  requireString,
  tracingTable,
} from '@kapstan/api/internal';
import type { Controller } from '../builder/controller-builder.ts';
import {
  type LeaderElectionOptions,
  type LeaderElectorOptions,
  leaderElectionTable,
} from '../leader-election/leader-election-options.ts';
import type { ManagerTracing } from '../tracing/run-tracer.ts';
import { requireWebhooks } from '../webhooks/webhook-options.ts';
import { requireHealthChecks } from './health-checks.ts';
import type { ManagerOptions } from './manager-options.ts';
import type { InspectOptions } from './manager-servers.ts';
import type { ProbeServerOptions } from './probe-server.ts';
import { type Runnable, requireRunnable } from './runnables.ts';

const maxPort = 65_535;
const electionTable: OptionTable<LeaderElectionOptions & Pick<LeaderElectorOptions, 'onNewLeader'>> = {
  ...leaderElectionTable,
  onNewLeader: checkedElsewhere,
};
const probeTable: OptionTable<ProbeServerOptions> = {
  port: portOf('metrics'),
  host: optional(hostOf('metrics')),
};
const managerTracingTable: OptionTable<ManagerTracing> = {
  ...tracingTable,
  annotatesCreated: optional(requireBoolean),
};
const inspectTable: OptionTable<InspectOptions> = {
  port: optional(portOf('inspect')),
  host: optional(hostOf('inspect')),
  errorTexts: optional(requireBoolean),
};

/**
 * Throws TypeError for values that are not controllers, for an empty list unless something else runs, and for two
 * controllers with the same name.
 */
export function requireControllers(controllers: readonly Controller[], runnables: readonly Runnable[] = []): void {
  if (!Array.isArray(controllers))
    throw new TypeError(`a manager takes a list of controllers, not ${inspect(controllers)}`);
  if (controllers.length === 0 && runnables.length === 0) throw new TypeError('there is no controller to run');
  for (const one of controllers as readonly unknown[]) {
    const isController = typeof one === 'object' && one !== null && 'resource' in one && 'reconcile' in one;
    if (!isController || typeof one.reconcile !== 'function' || 'owns' in one)
      throw new TypeError('a controller must end with .reconcile(…), which makes it runnable');
  }
  const names = controllers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`two controllers are named ${twice}: give one another name`);
}

/** True for the result of a builder; a builder itself is not one. */
export function isController(work: Controller | Runnable): work is Controller {
  return typeof work === 'object' && work !== null && 'resource' in work;
}

/** Options that a manager and `run` share; the client of `run` may be absent. */
export const managerTable: OptionTable<ManagerOptions> = {
  client: checkedElsewhere,
  gracePeriodMs: optional(requireNotNegative),
  ownWritesTimeoutMs: optional(requireNotNegative),
  cacheSyncTimeoutMs: optional(requireNotNegative),
  clock: requireClock,
  logger: requireLogger,
  random: requireFunction,
  registry: optional(objectWith('registerMetric', 'metrics')),
  informers: optional(requireInformers),
  leaderElection: optional(requireElection),
  namespaces: optional(requireNamespaces),
  runnables: optional(requireRunnables),
  metrics: optional(requireProbes),
  healthzChecks: optional(requireHealthChecks),
  readyzChecks: optional(requireHealthChecks),
  inspect: optional(requireInspect),
  installCrds: optional(requireInstallCrds),
  webhooks: requireWebhooks,
  tracing: optional(requireManagerTracing),
};

/** Throws TypeError for values that JavaScript allows and that would fail late or not at all. */
export function requireManagerOptions(given: ManagerOptions): void {
  requireObject(given, 'options of a manager');
  requireOptions(given, { ...managerTable, client: objectWith('listerWatcher') }, 'a manager');
}

function requireInstallCrds(installCrds: unknown): void {
  if (typeof installCrds !== 'boolean')
    throw new TypeError(`installCrds must be true or false, not ${inspect(installCrds)}`);
}

/** informer-cache.ts and the informers check the rest. */
function requireInformers(informers: unknown): void {
  requireObject(informers, 'informers');
  for (const name of ['namespaces', 'clock'])
    if ((informers as Readonly<Record<string, unknown>>)[name] !== undefined)
      throw new TypeError(`informers takes no ${name}: it is an option next to informers`);
}

/** leader-election-options.ts checks the rest. */
function requireElection(election: unknown): void {
  if (election === false) return;
  const lease = (typeof election === 'object' && election) || {};
  if (!('name' in lease && typeof lease.name === 'string'))
    throw new TypeError(`leaderElection takes { name }, the Lease's, not ${inspect(election)}`);
  requireKnownOptions(lease, electionTable, 'leaderElection');
}

function requireNamespaces(namespaces: unknown): void {
  if (!Array.isArray(namespaces) || namespaces.some((name) => typeof name !== 'string'))
    throw new TypeError(`namespaces takes a list of names, not ${inspect(namespaces)}`);
  // A server would answer with an empty list, so nothing would ever happen, and without an error.
  if (namespaces.includes('')) throw new TypeError('namespaces: leave it out for all namespaces, "" is none');
  for (const name of namespaces as readonly string[])
    for (const problem of dnsLabelErrors(name))
      throw new TypeError(`namespaces: no namespace can be named ${inspect(name)}: ${problem}`);
}

function requireRunnables(runnables: unknown): void {
  if (!Array.isArray(runnables)) throw new TypeError(`runnables takes a list, not ${inspect(runnables)}`);
  for (const runnable of runnables as readonly Runnable[]) requireRunnable(runnable);
}

function requireProbes(metrics: unknown): void {
  requireObject(metrics, 'metrics, such as { port: 8080 },');
  requireOptions(metrics as ProbeServerOptions, probeTable, 'metrics');
}

function requireInspect(inspect: unknown): void {
  if (typeof inspect === 'boolean') return;
  requireObject(inspect, 'inspect, such as true or { port: 8081 },');
  requireOptions(inspect as InspectOptions, inspectTable, 'inspect');
}

function requireManagerTracing(tracing: unknown): void {
  requireObject(tracing, 'tracing, such as { api: opentelemetry },');
  requireOptions(tracing as ManagerTracing, managerTracingTable, 'tracing');
}

function portOf(owner: 'metrics' | 'inspect'): (port: unknown) => void {
  return (port) => {
    if (!(Number.isInteger(port) && (port as number) >= 0 && (port as number) <= maxPort))
      throw new TypeError(`${owner}.port must be a whole number from 0 to ${maxPort}, not ${inspect(port)}`);
  };
}

function hostOf(owner: 'metrics' | 'inspect'): (host: unknown) => void {
  return (host) => requireString(host, `${owner}.host`);
}
