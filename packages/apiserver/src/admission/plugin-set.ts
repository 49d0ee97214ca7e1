// PluginSet: the admission plug-ins of a server, passed in by the package that knows its kinds. admission-chain.ts
// orders them.
import type { Clock } from '@kapstan/api';
import type { AdmissionOperation } from '@kapstan/api/internal';
import type { Authorizer } from '../authz/authorizer.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';

import type { AdmissionPlugin } from './plugin/admission-plugin.ts';
import type { PolicyPorts } from './policy/policy-ports.ts';
import type { WebhookPorts } from './webhook/webhook-run.ts';

/** Ports that the server gives to plug-ins. */
export interface PluginPorts {
  readonly catalog: ResourceCatalog;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly webhooks?: WebhookPorts;
  /** Configurations of plug-ins by name, as YAML or JSON. Absent = none. */
  readonly configurations?: ReadonlyMap<string, string> | undefined;
  /** Plug-ins that flags turn on. Absent = none. */
  readonly enabled?: readonly string[] | undefined;
  /** Ports of the plug-ins that evaluate policies. Absent = there are no such plug-ins. */
  readonly policies?: PolicyPorts;
}

/** A plug-in with the operations for which it is called, and whether it is on by default. */
export interface BuiltInPlugin {
  readonly plugin: AdmissionPlugin;
  /** Operations for which it is called. */
  readonly operations: readonly AdmissionOperation[];
  /** True = on unless disabled; false = off unless enabled. */
  readonly isDefault: boolean;
}

/** The plug-ins that a server knows by name, with their makers. */
export interface PluginSet {
  /** All names that flags may contain, in the order in which plug-ins run; some are not built. */
  readonly names: readonly string[];
  /** Names of the plug-ins that are built. */
  readonly built: ReadonlySet<string>;
  /** Names of the plug-ins that have a configuration. */
  readonly configurable: ReadonlySet<string>;
  make(ports: PluginPorts): readonly BuiltInPlugin[];
}

/**
 * Returns the configuration of a plug-in as read by `parse`; undefined = it has none. Throws TypeError with
 * kube-apiserver's text when it cannot be used.
 */
export function configured<T>(
  { configurations }: Pick<PluginPorts, 'configurations'>,
  name: string,
  parse: (text: string | undefined) => T,
): T {
  try {
    return parse(configurations?.get(name));
  } catch (error) {
    throw new TypeError(`couldn't init admission plugin "${name}": ${(error as Error).message}`, { cause: error });
  }
}

/** Every operation that admission knows. */
export const allOperations: readonly AdmissionOperation[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'];

export const noPlugins: PluginSet = { names: [], built: new Set(), configurable: new Set(), make: () => [] };
