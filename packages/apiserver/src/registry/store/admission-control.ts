// AdmissionControl: the port through which the store lets a request be changed or refused before it is written.
// Implemented by admission/admission-chain.ts.

import type { DeepReadonly, GroupResource, KubernetesObject } from '@kapstan/api';
import type { AdmissionOperation, GroupVersionKind, GroupVersionResource } from '@kapstan/api/internal';
import type { RequestContext } from '../definition/request-context.ts';
import type { FinishReservation } from '../definition/resource-definition.ts';
import type { DeleteRequest } from '../definition/resource-store.ts';

/** A request as admission sees it. Source: admission.Attributes. */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly resource: GroupVersionResource;
  /** "" = the object itself. */
  readonly subresource: string;
  readonly kind: GroupVersionKind;
  /** "" when the name is to be generated. */
  readonly name: string;
  /** "" for cluster-scoped resources. A Namespace object has its own name here. */
  readonly namespace: string;
  /** The new object; undefined in a deletion. `admit` changes it in place; `validate` only reads it. */
  readonly object: KubernetesObject | undefined;
  /** The present object of an update or a deletion. */
  readonly oldObject: DeepReadonly<KubernetesObject> | undefined;
  /** The user, dry run and warnings. */
  readonly context: RequestContext;
  /** The options of a deletion. Absent = no options were given, or the request is not a deletion. */
  readonly deletion?: DeleteRequest | undefined;
  /**
   * `validate` adds functions here that are called when the following write has ended. Absent = the end of the request
   * is not reported.
   */
  readonly finishers?: FinishReservation[] | undefined;
  /** State of the plug-ins that ask again after others changed the object. Made when it is first needed. */
  reinvocation?: Reinvocation;
}

/**
 * One request's two rounds of mutating admission: the second one happens only if a plug-in requested it in the first.
 * Source: admission.ReinvocationContext.
 */
export interface Reinvocation {
  isNeeded: boolean;
  /** True in the second round. */
  isSecond: boolean;
  /** State by the plug-in's name. */
  readonly states: Map<string, unknown>;
}

/**
 * `admit` and `validate` reject with StatusError to refuse. One request may call them several times, because writes are
 * retried.
 */
export interface AdmissionControl {
  /** Changes `attributes.object` in place, before the strategy validates it. */
  admit(attributes: AdmissionAttributes): Promise<void>;
  /**
   * Checks again facts that may have changed since `admit`, such as the namespace of an object whose validation took
   * long. Changes nothing.
   */
  recheck?(attributes: AdmissionAttributes): Promise<void>;
  /** Returns false when no validating admission concerns that resource. */
  validates(resource: GroupResource): boolean;
  /** Checks the object that will be written, after the strategy has validated it. Changes nothing. */
  validate(attributes: AdmissionAttributes): Promise<void>;
}
