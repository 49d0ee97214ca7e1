// Validates reviews of access. Source: pkg/apis/authorization/validation (1.36).
import type { DeepReadonly } from '@kapstan/api';
import { type FieldError, invalid, labelValueErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import { collectFieldErrors, type Field } from '@kapstan/apiserver/internal';
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  LocalSubjectAccessReview,
  ResourceAttributes,
  SelfSubjectAccessReviewSpec,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
} from '@kapstan/kinds/authorization.k8s.io/v1';

/** Throws 422 when the spec is invalid. */
export function requireSelfReview(spec: DeepReadonly<SelfSubjectAccessReviewSpec>): void {
  refuse(collectFieldErrors((root) => validateTarget(root.child('spec'), spec)));
}

/** Throws 422 when the review is invalid. */
export function requireReview(review: DeepReadonly<SubjectAccessReview>): void {
  refuse(
    collectFieldErrors((root) => {
      validateSpec(root.child('spec'), review.spec);
      if (hasMetadata(review, [])) root.child('metadata').invalid(review.metadata, 'must be empty');
    }),
  );
}

/** Throws 422 when the review is invalid. */
export function requireLocalReview(review: DeepReadonly<LocalSubjectAccessReview>): void {
  const { spec, metadata } = review;
  refuse(
    collectFieldErrors((root) => {
      const at = root.child('spec');
      validateSpec(at, spec);
      if (hasMetadata(review, ['namespace'])) {
        root.child('metadata').invalid(metadata, 'must be empty except for namespace');
      }
      const namespace = spec.resourceAttributes?.namespace ?? '';
      if (spec.resourceAttributes !== undefined && namespace !== (metadata?.namespace ?? '')) {
        at.child('resourceAttributes', 'namespace').invalid(namespace, 'must match metadata.namespace');
      }
      if (spec.nonResourceAttributes !== undefined) {
        at.child('nonResourceAttributes').invalid(shownPath(spec), 'disallowed on this kind of request');
      }
    }),
  );
}

/** Kubernetes loses the kind on the way to this error. */
function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', errors);
}

function hasMetadata({ metadata = {} }: DeepReadonly<SubjectAccessReview>, allowed: readonly string[]): boolean {
  return Object.keys(metadata).some((key) => key !== 'managedFields' && !allowed.includes(key));
}

function validateSpec(at: Field, spec: DeepReadonly<SubjectAccessReviewSpec>): void {
  validateTarget(at, spec);
  if (!spec.user && (spec.groups ?? []).length === 0) {
    at.child('user').invalid(spec.user ?? '', 'at least one of user or group must be specified');
  }
}

function validateTarget(at: Field, spec: DeepReadonly<SelfSubjectAccessReviewSpec>): void {
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    at.child('nonResourceAttributes').invalid(shownPath(spec), detail);
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    at.child('resourceAttributes').invalid(null, detail);
  }
  if (resourceAttributes !== undefined) validateSelectors(at.child('resourceAttributes'), resourceAttributes);
}

/** Returns the path with the names of Go's fields, as Kubernetes shows it. */
function shownPath({ nonResourceAttributes }: DeepReadonly<SelfSubjectAccessReviewSpec>): unknown {
  return { Path: nonResourceAttributes?.path ?? '', Verb: nonResourceAttributes?.verb ?? '' };
}

/** The two selectors have the errors of a requirement in different orders. */
function validateSelectors(at: Field, { fieldSelector, labelSelector }: DeepReadonly<ResourceAttributes>): void {
  validateSelector(at.child('fieldSelector'), fieldSelector, (place, requirement) => {
    if (requirement.key === '') place.child('key').required('must be specified');
    validateCount(place.child('values'), requirement);
  });
  validateSelector(at.child('labelSelector'), labelSelector, (place, requirement) => {
    const { key, values } = requirement;
    validateCount(place.child('values'), requirement);
    place.child('key').invalidAll(key, qualifiedNameErrors(key));
    place.child('values').each(values, (value, at) => at.invalidAll(value, labelValueErrors(value)));
  });
}

type Selector = DeepReadonly<FieldSelectorAttributes | LabelSelectorAttributes>;
type Requirement = NonNullable<Selector['requirements']>[number];

function validateSelector(
  at: Field,
  selector: Selector | undefined,
  validateTerm: (place: Field, requirement: Requirement) => void,
): void {
  if (selector === undefined) return;
  const { rawSelector = '', requirements = [] } = selector;
  if (rawSelector !== '' && requirements.length > 0) {
    at.child('rawSelector').invalid(rawSelector, 'may not specified at the same time as requirements');
  }
  if (rawSelector === '' && requirements.length === 0) {
    at.child('requirements').required(`when ${at.path} is specified, requirements or rawSelector is required`);
  }
  at.child('requirements').each(requirements, (requirement, place) => validateTerm(place, requirement));
}

/** An unknown operator may come from a newer client, so the requirement is ignored later. */
function validateCount(at: Field, { operator, values = [] }: Requirement): void {
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0) {
    at.required("must be specified when `operator` is 'In' or 'NotIn'");
  }
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0) {
    at.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  }
}
