// AdmissionRequest and AdmissionResponse: the question to a webhook about a request, and its possible answers. The API
// server asks, the SDK answers, over HTTPS or in one process. Source: k8s.io/api/admission/v1.
import type { StatusDetails, StatusMetadata } from '../errors/status.ts';
import type { GroupVersionKind, GroupVersionResource } from '../objects/group-version.ts';
import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '../objects/kubernetes-object.ts';

/** The operation of a request, in the words of admission reviews. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** The user who made the request of an admission review. */
export interface AdmissionUser {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The options of the request: CreateOptions, UpdateOptions or DeleteOptions. */
export type OperationOptions = { readonly kind: string; readonly apiVersion: string } & Readonly<
  Record<string, unknown>
>;

/** Everything about a request except its uid and its objects. Absent members are empty. */
export interface DescribedRequest {
  /** Kind and version of the objects. The request may have arrived in another version, see `requestKind`. */
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  /** "status", "scale", …; absent = the object itself. */
  readonly subResource?: string;
  readonly requestKind: GroupVersionKind;
  readonly requestResource: GroupVersionResource;
  readonly requestSubResource?: string;
  /** Absent when the server is to generate it, and in the deletion of a collection. */
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: AdmissionOperation;
  readonly userInfo: AdmissionUser;
  readonly dryRun: boolean;
  readonly options: OperationOptions | null;
}

/** Source: admission/v1 AdmissionRequest. */
export interface AdmissionRequest<T extends KubernetesObject = UnstructuredObject> extends DescribedRequest {
  readonly uid: string;
  /** The new object; null in a deletion. */
  readonly object: T | null;
  /** The present object of an update or a deletion. */
  readonly oldObject: DeepReadonly<T> | null;
}

/** The reason for which a request is denied. Source: meta/v1 Status. */
export interface DenialStatus {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly metadata?: StatusMetadata;
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
