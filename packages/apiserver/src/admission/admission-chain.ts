// AdmissionChain runs the enabled plug-ins in Kubernetes' order: all mutate, then, after the strategy, all validate.
// Implements the registry's AdmissionControl.

import { type Clock, type GroupResource, systemClock } from '@kapstan/api';
import type { AdmissionOperation, MetricFamily } from '@kapstan/api/internal';
import { copyInSlices, formatGroupResource } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { Authorizer } from '../authz/authorizer.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { AdmissionAttributes, AdmissionControl } from '../registry/store/admission-control.ts';
import {
  type AdmissionStep,
  admissionFamilies,
  type DurationsOfSteps,
  durationsOfSteps,
  type StepDurations,
} from './admission-metrics.ts';
import type { ConditionMetrics } from './matching/condition-metrics.ts';
import type { AdmissionPlugin } from './plugin/admission-plugin.ts';
import { allOperations, noPlugins, type PluginSet } from './plugin-set.ts';
import type { PolicyPorts } from './policy/policy-ports.ts';
import type { WebhookPorts } from './webhook/webhook-run.ts';

/** The names of plug-ins that are turned on and off, as `--enable-admission-plugins` and its counterpart give them. */
export type AdmissionFlags = Pick<AdmissionChainOptions, 'enabled' | 'disabled'>;

/** Options of the admission chain: its plug-ins, the enabled ones, and their sources of data. */
export interface AdmissionChainOptions {
  /** Lets plug-ins read namespaces, service accounts and classes. */
  readonly catalog: ResourceCatalog;
  /** Lets plug-ins ask about further rights of a user. */
  readonly authorizer: Authorizer;
  /** `--enable-admission-plugins`: plug-ins in addition to those that are on by default. */
  readonly enabled?: readonly string[] | undefined;
  /** `--disable-admission-plugins`. */
  readonly disabled?: readonly string[] | undefined;
  /** Configurations of plug-ins by name, as YAML or JSON. Default none. */
  readonly configurations?: ReadonlyMap<string, string> | undefined;
  /** The server's own plug-ins, some on by default. Default none. */
  readonly builtIn?: PluginSet;
  /** Ports of the plug-ins that call webhooks. Absent = there are no such plug-ins. */
  readonly webhooks?: WebhookPorts;
  /** Ports of the plug-ins that evaluate policies. Absent = there are no such plug-ins. */
  readonly policies?: PolicyPorts;
  /**
   * Further plug-ins, on unless disabled, each under a name that no other plug-in has. Each runs at the place that
   * `builtIn` has for its name; one whose name it does not have runs before all others, so that they see what it changes.
   */
  readonly plugins?: readonly AdmissionPlugin[];
  readonly clock?: Clock;
  /** Random numbers in [0, 1). Default Math.random. */
  readonly random?: () => number;
}

interface TimedPlugin {
  readonly plugin: AdmissionPlugin;
  /** Operations for which it is called. */
  readonly operations: readonly AdmissionOperation[];
  readonly durations: DurationsOfSteps;
}

export class AdmissionChain implements AdmissionControl {
  readonly #plugins: readonly TimedPlugin[];
  /** Plug-ins that validate every resource. */
  readonly #validators: readonly TimedPlugin[];
  /** Plug-ins by group resource, for resources that some plug-in names. */
  readonly #validatorsOf = new Map<string, readonly TimedPlugin[]>();
  readonly #clock: Clock;
  readonly #whole: DurationsOfSteps = durationsOfSteps();
  readonly #webhooks: WebhookPorts | undefined;
  readonly #conditions: ConditionMetrics | undefined;

  /**
   * Throws TypeError that names the flag, for names that are unknown, not built, or both enabled and disabled, for
   * configurations that cannot be used, and for further plug-ins without a name of their own.
   */
  constructor(options: AdmissionChainOptions) {
    const { enabled = [], disabled = [], builtIn = noPlugins, plugins = [] } = options;
    const ports = { clock: systemClock, random: Math.random, ...options };
    refuseConfigurations(options, builtIn);
    const built = builtIn.make(ports);
    refuseNames(plugins, new Set(built.map(({ plugin }) => plugin.name)));
    const names = [...built.map(({ plugin }) => plugin.name), ...plugins.map((plugin) => plugin.name)];
    const error = namesError(options, builtIn, new Set(names));
    if (error !== undefined) throw new TypeError(error);
    this.#clock = ports.clock;
    this.#webhooks = options.webhooks;
    this.#conditions = options.webhooks?.conditions ?? options.policies?.conditions;
    const place = ({ plugin: { name } }: { readonly plugin: AdmissionPlugin }): number => builtIn.names.indexOf(name);
    this.#plugins = [
      ...built.filter(({ plugin, isDefault }) => isDefault || enabled.includes(plugin.name)),
      // Plug-ins from elsewhere decide themselves which operations concern them.
      ...plugins.map((plugin) => ({ plugin: guarded(plugin), operations: allOperations })),
    ]
      .filter(({ plugin }) => !disabled.includes(plugin.name))
      .sort((a, b) => place(a) - place(b))
      .map(({ plugin, operations }) => ({ plugin, operations, durations: durationsOfSteps() }));
    const validating = this.#plugins.filter(({ plugin }) => plugin.validate !== undefined);
    this.#validators = validating.filter(({ plugin }) => plugin.validatedResources === undefined);
    for (const name of validating.flatMap(({ plugin }) => plugin.validatedResources ?? [])) {
      const named = validating.filter(({ plugin }) => plugin.validatedResources?.includes(name) !== false);
      this.#validatorsOf.set(name, named);
    }
  }

  /** Names of the enabled plug-ins, in order. */
  get pluginNames(): readonly string[] {
    return this.#plugins.map(({ plugin }) => plugin.name);
  }

  /** Returns the metrics for /metrics. */
  families(): MetricFamily[] {
    const durations = this.#plugins.map((timed) => [timed.plugin.name, timed.durations] as const);
    const own = this.#plugins.flatMap(({ plugin }) => plugin.families?.() ?? []);
    return [...admissionFamilies(this.#whole, durations), ...own, ...this.#sharedFamilies()];
  }

  #sharedFamilies(): MetricFamily[] {
    return [...(this.#webhooks?.metrics.families() ?? []), ...(this.#conditions?.families() ?? [])];
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    await this.#ask(this.#plugins, 'admit', attributes);
    const { reinvocation } = attributes;
    if (reinvocation?.isNeeded !== true) return;
    // The second round runs all plug-ins of the server, but only those webhooks that ask for it.
    reinvocation.isSecond = true;
    await this.#ask(this.#plugins, 'admit', attributes);
  }

  async recheck(attributes: AdmissionAttributes): Promise<void> {
    for (const { plugin, operations } of this.#plugins) {
      if (operations.includes(attributes.operation)) await plugin.recheck?.(attributes);
    }
  }

  validates(resource: GroupResource): boolean {
    return this.#validatorsFor(resource).some(({ plugin }) => plugin.isIdle !== true);
  }

  validate(attributes: AdmissionAttributes): Promise<void> {
    return this.#ask(this.#validatorsFor(attributes.resource), 'validate', attributes);
  }

  #validatorsFor(resource: GroupResource): readonly TimedPlugin[] {
    return this.#validatorsOf.get(formatGroupResource(resource)) ?? this.#validators;
  }

  async #ask(plugins: readonly TimedPlugin[], step: AdmissionStep, attributes: AdmissionAttributes): Promise<void> {
    const { operation } = attributes;
    const beganMs = this.#clock.monotonicNow();
    let sinceMs = beganMs;
    let asked: StepDurations | undefined;
    // The end of one plug-in is the beginning of the next.
    const note = (outcome: 'passed' | 'rejected'): void => {
      const nowMs = this.#clock.monotonicNow();
      asked?.observe(operation, outcome, nowMs - sinceMs);
      sinceMs = nowMs;
    };
    let outcome: 'passed' | 'rejected' = 'rejected';
    try {
      for (const { plugin, operations, durations } of plugins) {
        if (plugin[step] === undefined || !operations.includes(operation)) continue;
        asked = durations[step];
        // Most plug-ins finish at once.
        const pending = plugin[step](attributes);
        if (pending !== undefined) await pending;
        note('passed');
        asked = undefined;
      }
      outcome = 'passed';
    } finally {
      note(outcome);
      this.#whole[step].observe(operation, outcome, sinceMs - beganMs);
    }
  }
}

/**
 * kube-apiserver ignores configurations that it cannot use; here they are refused, because a policy that is silently
 * off helps nobody.
 */
function refuseConfigurations({ configurations }: AdmissionChainOptions, { configurable, names }: PluginSet): void {
  for (const name of configurations?.keys() ?? []) {
    if (configurable.has(name)) continue;
    const why = names.includes(name) ? 'cannot be configured in this version' : 'is unknown';
    throw new TypeError(`admission control configuration: plugin ${JSON.stringify(name)} ${why}`);
  }
}

/** Flags turn plug-ins off by name, and metrics have one series for each name. */
function refuseNames(plugins: readonly AdmissionPlugin[], built: ReadonlySet<string>): void {
  const names = new Set<string>();
  for (const { name } of plugins) {
    if (typeof name !== 'string' || name === '') throw new TypeError('admission plugins: a plug-in has no name');
    const why = built.has(name) ? 'is built in' : 'is given twice';
    if (built.has(name) || names.has(name))
      throw new TypeError(`admission plugins: ${JSON.stringify(name)} ${why}; each plug-in has a name of its own`);
    names.add(name);
  }
}

/** Validation gets the very objects that are written, so a plug-in from elsewhere gets copies, which it may change. */
function guarded(plugin: AdmissionPlugin): AdmissionPlugin {
  if (plugin.validate === undefined) return plugin;
  return {
    name: plugin.name,
    validatedResources: plugin.validatedResources,
    get isIdle() {
      return plugin.isIdle === true;
    },
    ...(plugin.admit && { admit: (attributes) => plugin.admit?.(attributes) }),
    recheck: (attributes) => plugin.recheck?.(attributes),
    families: () => plugin.families?.() ?? [],
    validate: async (attributes) => {
      const { signal } = attributes.context;
      const object = await runInTurns(copyInSlices(attributes.object), signal);
      const oldObject = await runInTurns(copyInSlices(attributes.oldObject), signal);
      await plugin.validate?.({ ...attributes, object, oldObject });
    },
  };
}

/** Returns the fault of the flags' values, naming the flag, when no plug-ins come from elsewhere; undefined = none. */
export function admissionNamesError(flags: AdmissionFlags, builtIn: PluginSet): string | undefined {
  return namesError(flags, builtIn, builtIn.built);
}

function namesError(
  { enabled = [], disabled = [] }: AdmissionFlags,
  { names: known }: PluginSet,
  built: ReadonlySet<string>,
): string | undefined {
  for (const [flag, names] of [
    ['enable-admission-plugins', enabled],
    ['disable-admission-plugins', disabled],
  ] as const) {
    const unknown = names.find((name) => !known.includes(name) && !built.has(name));
    if (unknown !== undefined) return `${flag} plugin ${JSON.stringify(unknown)} is unknown`;
  }
  const overlap = enabled.filter((name) => disabled.includes(name));
  if (overlap.length > 0) {
    return `[${overlap.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`;
  }
  const missing = enabled.find((name) => !built.has(name));
  return missing === undefined
    ? undefined
    : `enable-admission-plugins plugin "${missing}" is not built in this version`;
}
