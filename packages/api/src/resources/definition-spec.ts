// The argument of defineResource: the parts of a custom resource definition beyond a resource's names.
import type { AnySchema } from './object-schema.ts';
import type { ResourceSpec } from './resource.ts';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** For example ".spec.replicas". */
  readonly jsonPath: string;
  readonly description?: string;
  readonly format?: string;
  /** 0 = always shown; above 0 only with `-o wide`. */
  readonly priority?: number;
}

/** The subresource `scale`, through which `kubectl scale` and autoscalers set a number of replicas. */
interface ScalePaths {
  /** For example ".spec.replicas". */
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** Path of a selector in text form. */
  readonly labelSelectorPath?: string;
}

/** A rule of the Common Expression Language about a whole object; rules of parts are in their schemas. */
interface ObjectRule {
  /** For example "self.metadata.name.size() < 20". */
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** The parts of a definition that each version has for itself. */
export interface DefinedVersionSpec<Spec, Status> {
  /** Schema of `spec`, which every object must have: structural, or of a library that makes JSON Schema (zod, TypeBox, valibot). */
  readonly spec: Spec;
  /** Schema of `status`; with it the resource has the status subresource. */
  readonly status?: Status;
  readonly columns?: readonly PrinterColumn[];
  readonly scale?: ScalePaths;
  /** Rules (`x-kubernetes-validations`) about the whole object. */
  readonly rules?: readonly ObjectRule[];
  /** Paths of fields by which lists can be selected, for example ".spec.color". */
  readonly selectableFields?: readonly string[];
}

/** A version besides the one in which objects are stored. */
export interface OtherVersionSpec extends DefinedVersionSpec<AnySchema, AnySchema> {
  /** Default true. */
  readonly served?: boolean;
  /** Clients get a warning: this text, or the server's default text for true. */
  readonly deprecated?: boolean | string;
}

/** The argument of {@link defineResource}: names, schemas and the other parts of a CustomResourceDefinition. */
export interface ResourceDefinitionSpec<Spec, Status> extends ResourceSpec, DefinedVersionSpec<Spec, Status> {
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Annotations of the definition; groups under k8s.io need `api-approved.kubernetes.io`. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Other versions, by name. `version` is the one in which objects are stored. */
  readonly versions?: Readonly<Record<string, OtherVersionSpec>>;
  /** How objects are converted between versions, as in a definition's `spec.conversion`. Default: only their apiVersion changes. */
  readonly conversion?: Readonly<Record<string, unknown>>;
}
