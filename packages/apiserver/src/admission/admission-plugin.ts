// AdmissionPlugin: one rule of the admission chain. Each is a file of its own; admission-chain.ts puts them in order.
import type { StatusError } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import type { AdmissionAttributes } from '../registry/store/admission-control.ts';

/** Both functions reject with StatusError to refuse; absent = the plug-in takes no part in that phase. */
export interface AdmissionPlugin {
  /** As `--enable-admission-plugins` names it. */
  readonly name: string;
  /** May change `attributes.object` in place. */
  admit?(attributes: AdmissionAttributes): Promise<void> | void;
  /** What of `admit` may come out otherwise seconds later. Changes nothing. */
  recheck?(attributes: AdmissionAttributes): Promise<void> | void;
  /** Group resources that `validate` looks at: "pods", "deployments.apps". Absent = all. */
  readonly validatedResources?: readonly string[];
  validate?(attributes: AdmissionAttributes): Promise<void> | void;
}

/** 403 that names the object, by its generateName or "Unknown" when it has no name yet. Source: admission.NewForbidden. */
export function refuse({ resource, name, object }: AdmissionAttributes, why: string): StatusError {
  const shown = name || object?.metadata?.name || object?.metadata?.generateName || 'Unknown';
  return forbidden(resource, shown, why);
}

/** True for a request about objects of that resource themselves. */
export function isAbout({ resource, subresource }: AdmissionAttributes, group: string, plural: string): boolean {
  return subresource === '' && resource.group === group && resource.resource === plural;
}
