// PluginSet: the admission plug-ins that a server has, handed in by whoever knows its kinds. Put in order by admission-chain.ts.
import type { Clock } from '@kapstan/api';
import type { Authorizer } from '../authz/authorizer.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { AdmissionOperation } from '../registry/store/admission-control.ts';
import type { AdmissionPlugin } from './admission-plugin.ts';

/** What plug-ins work with. */
export interface PluginPorts {
  readonly catalog: ResourceCatalog;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly random: () => number;
}

export interface BuiltInPlugin {
  readonly plugin: AdmissionPlugin;
  /** What it is asked about. */
  readonly operations: readonly AdmissionOperation[];
  /** On unless it is switched off; else off unless it is switched on. */
  readonly isDefault: boolean;
}

export interface PluginSet {
  /** All names that flags may have, in the order in which plug-ins are asked; some need not be built. */
  readonly names: readonly string[];
  /** Names of those that are built. */
  readonly built: ReadonlySet<string>;
  make(ports: PluginPorts): readonly BuiltInPlugin[];
}

export const allOperations: readonly AdmissionOperation[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'];

export const noPlugins: PluginSet = { names: [], built: new Set(), make: () => [] };
