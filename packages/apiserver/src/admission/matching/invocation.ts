// Invocation: a request as one webhook or policy sees it, with its objects in the version that it wants, and its description
// for reviews and expressions. Made by request-matching.ts. Source: plugin/webhook/request, plugin/cel CreateAdmissionRequest.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type {
  AdmissionUser,
  DescribedRequest,
  GroupVersionKind,
  GroupVersionResource,
  OperationOptions,
} from '@kapstan/api/internal';
import type { WriteIntent } from '../../registry/definition/request-context.ts';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';

/** The subject of a call: the request with its objects in the version that the webhook wants. */
export interface Invocation {
  readonly attributes: AdmissionAttributes;
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly object: KubernetesObject | undefined;
  readonly oldObject: DeepReadonly<KubernetesObject> | undefined;
}

/** Returns everything about the request except its uid and its objects. Empty texts are left out, as in Go. */
export function describeRequest({
  attributes,
  kind,
  resource,
}: Pick<Invocation, 'attributes' | 'kind' | 'resource'>): DescribedRequest {
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
