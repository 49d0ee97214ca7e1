// AdmissionReview: its versions, and the AdmissionRequest that a webhook or a function of this process gets. Used by
// webhook-caller.ts and admission-functions.ts. Source: k8s.io/api/admission/v1, plugin/webhook/request.
import type { UnstructuredObject } from '@kapstan/api';
import type { AdmissionRequest } from '@kapstan/api/internal';
import { describeRequest, type Invocation } from '../matching/invocation.ts';

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
