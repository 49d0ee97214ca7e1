// HookHost is the port through which a program gives its admission and conversion functions to an API server in the
// same process. The test cluster's client implements it; the manager of the SDK looks for it.
import type { KubernetesObject, UnstructuredObject } from '../objects/kubernetes-object.ts';
import type { Resource } from '../resources/resource.ts';
import type { LabelSelectorSpec } from '../selectors/label-selector-spec.ts';
import type { AdmissionOperation, AdmissionRequest, AdmissionResponse } from './admission-request.ts';

/**
 * Selects the requests for which a hook is called, and says what its failure means. Absent members have Kubernetes'
 * defaults.
 */
export interface AdmissionRule {
  readonly operations: readonly AdmissionOperation[];
  /** "" = the object alone; "status", "scale", …; "*" = the object and all subresources. */
  readonly subresource: string;
  readonly failurePolicy: 'Fail' | 'Ignore' | undefined;
  readonly matchPolicy: 'Exact' | 'Equivalent' | undefined;
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[] | undefined;
  readonly namespaceSelector: LabelSelectorSpec | undefined;
  readonly objectSelector: LabelSelectorSpec | undefined;
  readonly sideEffects: 'None' | 'NoneOnDryRun';
  readonly timeoutSeconds: number | undefined;
  readonly reinvocationPolicy: 'Never' | 'IfNeeded' | undefined;
}

/** A program's function that admits requests for one resource. */
export interface AdmissionHook {
  /** Must be unique in the program and have at least three labels: "defaults.echos.demo.dev". */
  readonly name: string;
  readonly type: 'mutating' | 'validating';
  readonly resource: Resource;
  readonly rule: AdmissionRule;
  /** Rejects when the function fails; the failure policy decides what that means. Aborts with the signal. */
  review(
    request: AdmissionRequest<KubernetesObject>,
    call: { readonly signal: AbortSignal },
  ): Promise<AdmissionResponse>;
}

/** The version that an object has and the one that is wanted, such as "demo.dev/v1". */
export interface VersionChange {
  readonly fromApiVersion: string;
  readonly toApiVersion: string;
}

/** Functions of a program that convert the objects of one definition between its versions. */
export interface ConversionHook {
  /** Name of the definition: "echos.demo.dev". */
  readonly definition: string;
  readonly group: string;
  readonly kind: string;
  /** Converts the object, which it may change and return. */
  convert(object: UnstructuredObject, change: VersionChange): UnstructuredObject | Promise<UnstructuredObject>;
}

/** All functions of a program that an API server calls. */
export interface ProgramHooks {
  readonly admission: readonly AdmissionHook[];
  readonly conversions: readonly ConversionHook[];
}

export interface HookHost {
  /** Makes the server call these from now on. The returned function ends that. */
  hostHooks(hooks: ProgramHooks): () => void;
}

/** Returns true if functions can be given to the server of this client without HTTP. */
export function isHookHost(client: object): client is HookHost {
  return 'hostHooks' in client && typeof client.hostHooks === 'function';
}
