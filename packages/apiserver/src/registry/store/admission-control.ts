// AdmissionControl: the port through which the store lets a request be changed or refused before it is written.
// Implemented by admission/admission-chain.ts.

import type { DeepReadonly, GroupResource, KubernetesObject } from '@kapstan/api';
import type { GroupVersionKind, GroupVersionResource } from '@kapstan/api/internal';
import type { RequestContext } from '../definition/request-context.ts';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** A request as admission sees it. Source: admission.Attributes. */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly resource: GroupVersionResource;
  /** "" = the object itself. */
  readonly subresource: string;
  readonly kind: GroupVersionKind;
  /** "" when it is to be generated. */
  readonly name: string;
  /** "" for cluster-scoped resources. A namespace itself has its own name here. */
  readonly namespace: string;
  /** The new object; undefined in a deletion. Changed in place by `admit`, read only in `validate`. */
  readonly object: KubernetesObject | undefined;
  /** The present object of an update or a deletion. */
  readonly oldObject: DeepReadonly<KubernetesObject> | undefined;
  /** User, dry run, warnings. */
  readonly context: RequestContext;
}

/** `admit` and `validate` reject with StatusError to refuse. May be called several times for one request: writes are retried. */
export interface AdmissionControl {
  /** Changes `attributes.object` in place. Before validation by the strategy. */
  admit(attributes: AdmissionAttributes): Promise<void>;
  /** Looks again at what may have gone since `admit`, such as the namespace of an object whose validation took long. Changes nothing. */
  recheck?(attributes: AdmissionAttributes): Promise<void>;
  /** False: nothing is interested in validating that resource. */
  validates(resource: GroupResource): boolean;
  /** Looks at what is going to be written, and changes nothing. After validation by the strategy. */
  validate(attributes: AdmissionAttributes): Promise<void>;
}
