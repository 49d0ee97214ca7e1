export { type AdmissionMatching, admissionMatching } from './admission/admission-matching.ts';
export {
  admissionPluginNames,
  type KubernetesPlugins,
  kubernetesAdmission,
  kubernetesPlugins,
} from './admission/built-in-plugins.ts';
export { NamespaceLifecycle } from './admission/namespace-lifecycle.ts';
export { AdmissionPolicies, type AdmissionPolicyKind } from './admission/policies/admission-policies.ts';
export { type PolicyAdmission, policyAdmission } from './admission/policies/policy-admission.ts';
export { policyTypeWarnings } from './admission/policies/policy-types.ts';
export type { PendingCharges } from './admission/resource-quota/pending-charges.ts';
export { type QuotaAdmission, quotaAdmission } from './admission/resource-quota/quota-admission.ts';
export type { QuotaFeedKind, QuotaStore } from './admission/resource-quota/quota-store.ts';
export {
  type WebhookAdmission,
  type WebhookAdmissionOptions,
  webhookAdmission,
} from './admission/webhook-admission.ts';
export { type WebhookConfigurationKind, WebhookConfigurations } from './admission/webhook-configurations.ts';
export { deploymentRollbacks } from './apps/deployments/rollback.ts';
export type { DelegationOptions } from './authentication/delegated-authenticator.ts';
export { type IdentityReviewsOptions, identityReviews } from './authentication/identity-reviews.ts';
export { accessReviews } from './authorization/access-reviews.ts';
export { type DelegatedAccess, delegatedAccess } from './authorization/delegated-access.ts';
export { type ReviewWebhookOptions, reviewWebhook } from './authorization/review-webhook.ts';
export { ApiEnablement, idleRuntimeConfig, type RuntimeConfig } from './builtin/api-enablement.ts';
export type { BuiltinServer } from './builtin/builtin-kind.ts';
export { builtinFacts } from './builtin/builtin-resource.ts';
export { kubernetesTypes } from './builtin/kubernetes-types.ts';
export type { NodePortRegistry, RangeAllocation } from './builtin/node-port-registry.ts';
export { type ObjectCreator, PreparedObjects, type PreparedObjectsParts } from './builtin/prepared-objects.ts';
export { type VirtualKind, virtualResource } from './builtin/virtual-resource.ts';
export { builtinMaker } from './builtin-maker.ts';
export { builtinResources } from './builtin-resources.ts';
export { bindings } from './core/bindings/bindings.ts';
export {
  type ComponentChecks,
  type ComponentHealth,
  componentStatuses,
} from './core/componentstatuses/component-statuses.ts';
export { type SecretTokenClaims, type SecretTokenIssuer, SecretTokens } from './core/serviceaccounts/secret-tokens.ts';
export {
  generateSigningKey,
  type IssuerDocuments,
  keySetPath,
  ServiceAccountTokens,
} from './core/serviceaccounts/service-account-tokens.ts';
export { readSigningKey, readVerificationKeys } from './core/serviceaccounts/signing-key.ts';
export {
  EndpointAddresses,
  type EndpointAddressesKind,
  type EndpointAddressesOptions,
} from './core/services/endpoint-addresses.ts';
export { firstServiceAddress, serviceNetwork } from './core/services/ipv4.ts';
export { NodePortCheck } from './core/services/node-port-check.ts';
export { serviceResolver } from './core/services/service-resolver.ts';
export { ensureFlowConfiguration } from './flowcontrol/configuration-ensurer.ts';
export { flowControlFacts } from './flowcontrol/flow-control-facts.ts';
export {
  type FlowControlChange,
  type FlowControlKind,
  FlowControlObjects,
  mandatoryConfiguration,
} from './flowcontrol/flow-control-objects.ts';
export { FlowSchemaStatuses } from './flowcontrol/flow-schema-statuses.ts';
export { nodeAuthorizer } from './node-authorizer/node-authorizer.ts';
export { NodeGraph } from './node-authorizer/node-graph.ts';
export { NodeGraphFeed, type NodeGraphKind } from './node-authorizer/node-graph-feed.ts';
export { formatUsage, isSameUsage } from './quota/amounts.ts';
export { type CalculatedUsage, type CountedObjects, calculateUsage } from './quota/quota-calculation.ts';
export type { QuotaEvaluator } from './quota/quota-evaluator.ts';
export type { QuotaEvaluators } from './quota/quota-evaluators.ts';
export { reconcileBootstrapPolicy } from './rbac/bootstrap-policy.ts';
export { type EscalationGuardOptions, guardEscalation } from './rbac/escalation-guard.ts';
export { type RbacKind, RbacPolicy, type RbacPolicyOptions } from './rbac/rbac-policy.ts';
export { isIpv6 } from './validation/ip-family.ts';
