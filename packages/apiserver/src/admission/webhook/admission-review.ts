// AdmissionReview: what a webhook is asked about a request, and what it may answer. Sent and read by webhook-caller.ts;
// functions in this process get and give the same. Source: k8s.io/api/admission/v1, plugin/webhook/request.
import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { StatusDetails } from '@kapstan/api/errors';
import { type DescribedRequest, describeRequest, type Invocation } from '../matching/invocation.ts';

/** Source: admission/v1 AdmissionRequest. */
export interface AdmissionRequest<T extends KubernetesObject = UnstructuredObject> extends DescribedRequest {
  readonly uid: string;
  /** The new object; null in a deletion. */
  readonly object: T | null;
  /** The present object of an update or a deletion. */
  readonly oldObject: DeepReadonly<T> | null;
}

/** Why a request is denied. Source: meta/v1 Status. */
export interface DenialStatus {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  /** HTTP status code; below 400 counts as 400. */
  readonly code?: number;
}

/** Source: admission/v1 AdmissionResponse. */
export interface AdmissionResponse {
  /** The uid of the request. Required of webhooks; functions may leave it out. */
  readonly uid?: string;
  readonly allowed: boolean;
  readonly status?: DenialStatus;
  /** A JSON patch in base64. */
  readonly patch?: string;
  readonly patchType?: string;
  readonly auditAnnotations?: Readonly<Record<string, string>>;
  readonly warnings?: readonly string[];
}

export type ReviewVersion = 'v1' | 'v1beta1';

export const reviewGroup = 'admission.k8s.io';

/** Returns the request that a webhook gets. */
export function admissionRequest(invocation: Invocation, uid: string): AdmissionRequest {
  const { object, oldObject } = invocation;
  return {
    uid,
    ...describeRequest(invocation),
    object: (object as UnstructuredObject | undefined) ?? null,
    oldObject: (oldObject as UnstructuredObject | undefined) ?? null,
  };
}
