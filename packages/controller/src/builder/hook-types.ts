// The functions that authors write for webhooks: defaults, validations, conversions. Declared with the builder, called
// by admission-call.ts and hub-conversion.ts.
import type { DeepReadonly, KubernetesObject, LabelSelectorSpec, Logger, Resource, ResourceClient } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import type { AdmissionOperation, AdmissionRequest, AdmissionUser, DescribedRequest } from '@kapstan/api/internal';

/** Facts about the request besides its object. */
export interface HookContext<T extends KubernetesObject = KubernetesObject> {
  readonly operation: AdmissionOperation;
  /** The present object of an update or a deletion. */
  readonly old: DeepReadonly<T> | undefined;
  readonly user: AdmissionUser;
  /** True = nothing will be written, so the function must change nothing elsewhere either. */
  readonly isDryRun: boolean;
  /** All other parts: names, kinds, options. */
  readonly request: DescribedRequest & Pick<AdmissionRequest, 'uid'>;
  /** Aborts when the server no longer waits for the answer. */
  readonly signal: AbortSignal;
  /** The manager's client. It may read and write whether or not this process leads. */
  readonly client: ResourceClient;
  /** Each line names the webhook and the object. */
  readonly log: Logger;
  /** Shows a warning to the client of the API. Keep it below 120 characters. */
  warn(text: string): void;
  /** Adds an annotation to the audit event. The server puts the webhook's name before the key. */
  audit(key: string, value: string): void;
}

/** The context of an update, which has the present object. */
export interface UpdateContext<T extends KubernetesObject> extends HookContext<T> {
  readonly old: DeepReadonly<T>;
}

/**
 * Sets defaults: changes its own copy of the object, or returns another one. A StatusError that it throws refuses the
 * request; any other error is a failed call, for which the failure policy decides. Source: controller-runtime
 * webhook.CustomDefaulter.
 */
export type Defaulter<T extends KubernetesObject> = (
  object: T,
  context: HookContext<T>,
) => T | undefined | Promise<T | undefined> | Promise<void> | void;

/** A problem with one field: {@link FieldError} of `@kapstan/api/errors`, or its path and a sentence. */
export type FieldProblem = FieldError | { readonly path: string; readonly detail: string; readonly value?: unknown };

/**
 * The outcome of a validation. Nothing, an empty text or an empty list allows. A text denies with 403 Forbidden, field
 * problems deny with 422 Invalid and a cause for each.
 */
export type Verdict = readonly FieldProblem[] | string | undefined;

type Answered = Verdict | Promise<Verdict> | Promise<void> | void;

/**
 * Validates the object as it would be written; in a deletion, the present object. A StatusError that it throws is the
 * answer; any other error is a failed call, for which the failure policy decides. Source: controller-runtime
 * webhook.CustomValidator.
 */
export type Validator<T extends KubernetesObject> = (object: DeepReadonly<T>, context: HookContext<T>) => Answered;

/** Validators by operation. Operations without a validator are not sent to this program. */
export interface Validators<T extends KubernetesObject> {
  readonly create?: Validator<T>;
  readonly update?: (object: DeepReadonly<T>, context: UpdateContext<T>) => Answered;
  readonly delete?: Validator<T>;
}

/** Says when a hook is called, and what its failure means. Names and defaults come from admissionregistration/v1. */
export interface HookOptions {
  /**
   * Name of the webhook in messages, metrics and the configuration, at least three labels. Default
   * "defaults.<plural>.<group>" or "validates.<plural>.<group>". A second hook of a kind needs a name.
   */
  readonly name?: string;
  /** "status", "scale", …; "*" = the object and all subresources. Default: the object alone. */
  readonly subresource?: string;
  /** Whether a call that fails refuses the request. Default "Fail". */
  readonly failurePolicy?: 'Fail' | 'Ignore';
  /** Whether requests in other versions of the kind count, converted. Default "Equivalent". */
  readonly matchPolicy?: 'Exact' | 'Equivalent';
  /** CEL expressions that must all hold for the request. Default none. */
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
  /** Default: all namespaces. */
  readonly namespaceSelector?: LabelSelectorSpec;
  /** Default: all objects. */
  readonly objectSelector?: LabelSelectorSpec;
  /** "NoneOnDryRun" = the function changes other things unless `isDryRun`. Default "None": it changes nothing else. */
  readonly sideEffects?: 'None' | 'NoneOnDryRun';
  /** Time of a call, 1 to 30. Default 10. */
  readonly timeoutSeconds?: number;
}

export interface DefaultsOptions extends HookOptions {
  /** Default CREATE and UPDATE. */
  readonly operations?: readonly ('CREATE' | 'UPDATE')[];
  /** Whether it is called again when the object is changed after its call. Default "Never". */
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded';
}

export interface ValidatesOptions extends HookOptions {
  /** Default CREATE and UPDATE; with a function for each operation, these operations. */
  readonly operations?: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
}

/** A converted object. Version and kind are filled in, and metadata that it lacks is kept. */
export type Converted<T extends KubernetesObject> = Omit<T, 'metadata'> & Pick<KubernetesObject, 'metadata'>;

/**
 * Functions that convert the objects of another version. The version of the controller's resource is the hub: it is
 * stored, and every conversion goes through it. Both functions get a copy, which they may change and return; of the
 * metadata only labels and annotations may change. Source: controller-runtime conversion.Hub, conversion.Convertible.
 */
export interface VersionConversion<Hub extends KubernetesObject, Other extends KubernetesObject> {
  /** The other version, which gives the type and, when made by `defineResource`, the schema for `installCrds`. */
  readonly resource?: Resource<Other>;
  /** Returns an object of the other version in the hub's. */
  to(object: Other): Converted<Hub> | Promise<Converted<Hub>>;
  /** Returns an object of the hub's version in the other one. */
  from(object: Hub): Converted<Other> | Promise<Converted<Other>>;
}

/** A mutating or validating hook, as data. */
export interface DeclaredHook {
  readonly type: 'mutating' | 'validating';
  readonly name: string;
  readonly operations: readonly AdmissionOperation[];
  readonly options: DefaultsOptions | ValidatesOptions;
  readonly functions: {
    readonly defaults?: Defaulter<KubernetesObject>;
    readonly validates?: Validator<KubernetesObject> | Validators<KubernetesObject>;
  };
}

/** Everything that a controller declares for webhooks, as data. */
export interface DeclaredHooks {
  readonly admission: readonly DeclaredHook[];
  /** Converters by version. */
  readonly conversions: ReadonlyMap<string, VersionConversion<KubernetesObject, KubernetesObject>>;
}
