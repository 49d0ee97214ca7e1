// AdmissionReview: what a webhook is asked about a request, and what it may answer. Sent and read by webhook-caller.ts;
// functions in this process get and give the same. Source: k8s.io/api/admission/v1, plugin/webhook/request.
import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { StatusDetails } from '@kapstan/api/errors';
import type { GroupVersionKind, GroupVersionResource } from '@kapstan/api/internal';
import type { WriteIntent } from '../../registry/definition/request-context.ts';
import type { AdmissionAttributes, AdmissionOperation } from '../../registry/store/admission-control.ts';

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

/** Source: admission/v1 AdmissionRequest. */
export interface AdmissionRequest<T extends KubernetesObject = UnstructuredObject> {
  readonly uid: string;
  /** Kind and version of the objects below; the request itself may have come in another version, see `requestKind`. */
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
  /** The new object; null in a deletion. */
  readonly object: T | null;
  /** The present object of an update or a deletion. */
  readonly oldObject: DeepReadonly<T> | null;
  readonly dryRun: boolean;
  readonly options: OperationOptions | null;
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

/** What is asked about: the request with its objects in the version that the webhook wants. */
export interface Invocation {
  readonly attributes: AdmissionAttributes;
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly object: KubernetesObject | undefined;
  readonly oldObject: DeepReadonly<KubernetesObject> | undefined;
}

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

/** Returns everything about the request but its uid and its objects. Empty texts are left out, as Go does. */
export function describeRequest({
  attributes,
  kind,
  resource,
}: Pick<Invocation, 'attributes' | 'kind' | 'resource'>): Omit<AdmissionRequest, 'uid' | 'object' | 'oldObject'> {
  const { subresource, name, namespace, operation, context } = attributes;
  const { group, version, resource: plural } = attributes.resource;
  return {
    kind,
    resource,
    ...(subresource === '' ? {} : { subResource: subresource }),
    requestKind: attributes.kind,
    requestResource: { group, version, resource: plural },
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: userInfoOf(attributes),
    dryRun: context.dryRun,
    options: optionsOf(attributes),
  };
}

function userInfoOf({ context: { user } }: AdmissionAttributes): AdmissionUser {
  const { name, uid, groups, extra } = user;
  return {
    ...(name === '' ? {} : { username: name }),
    ...(uid ? { uid } : {}),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

const optionsVersion = 'meta.k8s.io/v1';

function optionsOf({ operation, context, deletion }: AdmissionAttributes): OperationOptions | null {
  const dryRun = context.dryRun ? { dryRun: ['All'] } : {};
  switch (operation) {
    case 'CREATE':
      return { kind: 'CreateOptions', apiVersion: optionsVersion, ...dryRun, ...intentOf(context.intent) };
    case 'UPDATE':
      return { kind: 'UpdateOptions', apiVersion: optionsVersion, ...dryRun, ...intentOf(context.intent) };
    case 'DELETE': {
      const { isOfCollection: _is, isAdmitted: _admitted, ...sent } = deletion ?? {};
      return { kind: 'DeleteOptions', apiVersion: optionsVersion, ...sent, ...dryRun };
    }
    case 'CONNECT':
      return null;
  }
}

function intentOf({ fieldManager = '', fieldValidation = '' }: WriteIntent = {}): Record<string, string> {
  return { ...(fieldManager === '' ? {} : { fieldManager }), ...(fieldValidation === '' ? {} : { fieldValidation }) };
}
