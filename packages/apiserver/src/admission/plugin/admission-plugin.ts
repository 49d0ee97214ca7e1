// AdmissionPlugin: one rule of the admission chain; each has its own file. admission-chain.ts orders them.
import type { StatusError } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import type { MetricFamily } from '@kapstan/api/internal';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';

/** Both functions reject with StatusError to refuse. Absent = the plug-in does nothing in that phase. */
export interface AdmissionPlugin {
  /** Name in `--enable-admission-plugins`. */
  readonly name: string;
  /**
   * May change `attributes.object` in place. Called again for the same request when a webhook changed the object, and
   * when an update meets a conflict.
   */
  admit?(attributes: AdmissionAttributes): Promise<void> | void;
  /** Checks again parts that may have changed in the seconds since `admit`. Changes nothing. */
  recheck?(attributes: AdmissionAttributes): Promise<void> | void;
  /** True while `validate` would refuse no request at all. Absent = false. */
  readonly isIdle?: boolean;
  /** Group resources that `validate` checks: "pods", "deployments.apps". Absent = all. */
  readonly validatedResources?: readonly string[] | undefined;
  validate?(attributes: AdmissionAttributes): Promise<void> | void;
  /** Returns its metrics for /metrics. Absent = none except its durations, which the chain measures. */
  families?(): MetricFamily[];
}

/**
 * Returns a 403 that names the object; one without a name by its generateName or "Unknown". Source:
 * admission.NewForbidden.
 */
export function refuse({ resource, name, object }: AdmissionAttributes, why: string): StatusError {
  const shown = name || object?.metadata?.name || object?.metadata?.generateName || 'Unknown';
  return forbidden(resource, shown, why);
}

/** True for a request about objects of that resource, not about their subresources. */
export function isAbout({ resource, subresource }: AdmissionAttributes, group: string, plural: string): boolean {
  return subresource === '' && resource.group === group && resource.resource === plural;
}
