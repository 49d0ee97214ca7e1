// Reviews of access: whether a user, or the caller, may do something, and everything that the caller may do. Virtual
// resources over the Authorizer. Source: pkg/registry/authorization (1.36).
import type { DeepReadonly } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import type {
  AuthorizationAttributes,
  Authorizer,
  ServedResource,
  UserInfo,
  VirtualStoreOptions,
} from '@kapstan/apiserver';
import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '@kapstan/kinds/authorization.k8s.io/v1';
import { type VirtualKind, virtualResource } from '../builtin/virtual-resource.ts';
import { requireLocalReview, requireReview, requireSelfReview } from './access-review-validation.ts';
import { reviewedSelectors, selectorError } from './review-selectors.ts';

/** Returns the four resources of authorization.k8s.io/v1. */
export function accessReviews(authorizer: Authorizer, options: VirtualStoreOptions = {}): ServedResource[] {
  return [
    virtualResource(subjectAccessReviews(authorizer), options),
    virtualResource(localSubjectAccessReviews(authorizer), options),
    virtualResource(selfSubjectAccessReviews(authorizer), options),
    virtualResource(selfSubjectRulesReviews(authorizer), options),
  ];
}

function subjectAccessReviews(authorizer: Authorizer): VirtualKind<SubjectAccessReview> {
  return {
    id: 'authorization.k8s.io/v1/subjectaccessreviews',
    validate: requireReview,
    answer: async (review) => ({ ...review, status: await statusOf(authorizer, review.spec, userOf(review.spec)) }),
  };
}

function localSubjectAccessReviews(authorizer: Authorizer): VirtualKind<LocalSubjectAccessReview> {
  return {
    id: 'authorization.k8s.io/v1/localsubjectaccessreviews',
    validate: requireLocalReview,
    answer: async (review) => ({ ...review, status: await statusOf(authorizer, review.spec, userOf(review.spec)) }),
  };
}

function selfSubjectAccessReviews(authorizer: Authorizer): VirtualKind<SelfSubjectAccessReview> {
  return {
    id: 'authorization.k8s.io/v1/selfsubjectaccessreviews',
    validate: ({ spec }) => requireSelfReview(spec),
    answer: async (review, { user }) => ({ ...review, status: await statusOf(authorizer, review.spec, user) }),
  };
}

function selfSubjectRulesReviews(authorizer: Authorizer): VirtualKind<SelfSubjectRulesReview> {
  return {
    id: 'authorization.k8s.io/v1/selfsubjectrulesreviews',
    validate: ({ spec }) => {
      if (!spec.namespace) throw badRequest('no namespace on request');
    },
    answer: async ({ spec }, { user }): Promise<SelfSubjectRulesReview> => {
      const rules = await authorizer.rulesFor?.(user, spec.namespace ?? '');
      const { resourceRules = [], nonResourceRules = [], evaluationError } = rules ?? {};
      const base = { kind: 'SelfSubjectRulesReview', apiVersion: 'authorization.k8s.io/v1', metadata: {}, spec: {} };
      const status = {
        resourceRules: resourceRules.map((rule) => ({ ...rule, verbs: [...rule.verbs] })),
        nonResourceRules: nonResourceRules.map((rule) => ({ ...rule, verbs: [...rule.verbs] })),
        // An authorizer that cannot list its rules may allow more than is shown.
        incomplete: rules?.incomplete ?? true,
        ...(evaluationError === undefined ? {} : { evaluationError }),
      };
      return { ...base, status } as SelfSubjectRulesReview;
    },
  };
}

async function statusOf(
  authorizer: Authorizer,
  spec: DeepReadonly<SubjectAccessReviewSpec>,
  user: UserInfo,
): Promise<SubjectAccessReviewStatus> {
  const attributes = attributesOf(spec, user);
  const { decision, reason, error } = await authorizer.authorize(attributes);
  const evaluationError = evaluationErrorOf(attributes, error);
  return {
    allowed: decision === 'allow',
    ...(decision === 'deny' ? { denied: true } : {}),
    ...(reason === '' ? {} : { reason }),
    ...(evaluationError === undefined ? {} : { evaluationError }),
  };
}

/** Returns undefined when there was no error. Source: authorization/util BuildEvaluationError. */
function evaluationErrorOf(attributes: AuthorizationAttributes, error: Error | undefined): string | undefined {
  const told = [error?.message, attributes.type === 'path' ? undefined : selectorError(attributes)];
  const errors = told.filter((text) => text !== undefined);
  return errors.length === 0 ? undefined : errors.join('; ');
}

function userOf({ user = '', uid, groups = [], extra }: DeepReadonly<SubjectAccessReviewSpec>): UserInfo {
  return { name: user, groups, ...(uid ? { uid } : {}), ...(extra === undefined ? {} : { extra }) };
}

/** Without a version, the review is about all versions. Source: authorization/util AuthorizationAttributesFrom. */
function attributesOf(spec: DeepReadonly<SubjectAccessReviewSpec>, user: UserInfo): AuthorizationAttributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  if (resource === undefined) return { type: 'path', user, verb: path?.verb ?? '', path: path?.path ?? '' };
  return {
    type: 'resource',
    user,
    verb: resource.verb ?? '',
    group: resource.group ?? '',
    version: resource.version || '*',
    namespace: resource.namespace ?? '',
    resource: resource.resource ?? '',
    subresource: resource.subresource ?? '',
    name: resource.name ?? '',
    ...reviewedSelectors(resource),
  };
}
