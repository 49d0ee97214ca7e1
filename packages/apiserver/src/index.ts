export {
  AdmissionChain,
  type AdmissionChainOptions,
  type AdmissionFlags,
  admissionNamesError,
} from './admission/admission-chain.ts';
export type { AdmissionPlugin } from './admission/admission-plugin.ts';
export { admissionPluginNames, kubernetesAdmission } from './admission/built-in-plugins.ts';
export { allOperations, type BuiltInPlugin, type PluginPorts, type PluginSet } from './admission/plugin-set.ts';
export {
  AuditLog,
  type AuditLogFormat,
  type AuditLogMode,
  type AuditLogTarget,
  auditLogFormats,
  auditLogModes,
} from './audit/audit-log.ts';
export { AuditLogFile } from './audit/log-file.ts';
export { parseAuditPolicy } from './audit/policy-file.ts';
export {
  type AuthenticationOptions,
  type AuthenticationResult,
  type Authenticator,
  bearerToken,
  type CertificateSubject,
  type Credentials,
  certificateAuthenticator,
} from './authn/authenticator.ts';
export { type IdentityReviewsOptions, identityReviews } from './authn/identity-reviews.ts';
export { type SecretTokenClaims, type SecretTokenIssuer, SecretTokens } from './authn/secret-tokens.ts';
export {
  generateSigningKey,
  type IssuerDocuments,
  keySetPath,
  ServiceAccountTokens,
} from './authn/service-account-tokens.ts';
export { readSigningKey, readVerificationKeys } from './authn/signing-key.ts';
export {
  bearerAuthenticator,
  knownTokens,
  type TokenAuthenticationOptions,
  type TokenAuthenticator,
  type TokenResult,
  tokenAuthenticator,
} from './authn/token-authenticator.ts';
export { parseTokenFile } from './authn/token-file.ts';
export { webSocketAuthenticator } from './authn/websocket-protocol.ts';
export { accessReviews } from './authz/access-reviews.ts';
export {
  type AuthorizationAttributes,
  type AuthorizationDecision,
  type Authorizer,
  alwaysAllow,
  type UserRules,
  unionAuthorizer,
} from './authz/authorizer.ts';
export { reconcileBootstrapPolicy } from './authz/bootstrap-policy.ts';
export { type EscalationGuardOptions, guardEscalation } from './authz/escalation-guard.ts';
export { mastersAuthorizer, mastersGroup } from './authz/masters-authorizer.ts';
export type { Grant, RuleSource } from './authz/rbac-authorizer.ts';
export { rbacAuthorizer } from './authz/rbac-authorizer.ts';
export { type RbacKind, RbacPolicy, type RbacPolicyOptions } from './authz/rbac-policy.ts';
export { type GrantedRules, RuleList } from './authz/rule-list.ts';
export {
  isStorageMediaType,
  type ResourceCodecOptions,
  type StorageMediaType,
  storageCodec,
  storageCodecOf,
  storageMediaTypes,
} from './codec/storage-codec.ts';
export { DefinitionController, type DefinitionControllerOptions } from './crd/definition-controller.ts';
export { definitionMakers } from './crd/definition-makers.ts';
export { definitionsId } from './crd/definition-resource.ts';
export { type VersionInfo, versionInfo } from './discovery/version-info.ts';
export { FieldManager, type FieldManagerOptions } from './fieldmanager/field-manager.ts';
export { type ApiServer, startApiServer } from './http/api-server.ts';
export type { ApiServerOptions, IncomingRequest } from './http/api-server-options.ts';
export type { ShutdownOptions } from './http/graceful-shutdown.ts';
export type { HealthCheck } from './http/health.ts';
export type { TlsOptions } from './http/http-server.ts';
export type { Page, PageAnswer, PageRequest } from './http/page.ts';
export type { AuditOptions } from './http/request-audit.ts';
export type { KubeletOptions } from './http/tunnel-transport.ts';
export { objectPatching } from './object-patching.ts';
export type { AdmissionAttributes, AdmissionControl, AdmissionOperation } from './registry/admission-control.ts';
export { ApiEnablement, idleRuntimeConfig, type RuntimeConfig } from './registry/api-enablement.ts';
export { deploymentRollbacks } from './registry/apps/deployments/rollback.ts';
export type { BuiltinServer } from './registry/builtin-kind.ts';
export { builtinMaker } from './registry/builtin-maker.ts';
export { builtinFacts } from './registry/builtin-resource.ts';
export { builtinResources } from './registry/builtin-resources.ts';
export { ResourceCatalog, type ServedResource } from './registry/catalog.ts';
export { mirrorCatalog } from './registry/catalog-mirror.ts';
export { bindings } from './registry/core/bindings/bindings.ts';
export {
  type ComponentChecks,
  type ComponentHealth,
  componentStatuses,
} from './registry/core/componentstatuses/component-statuses.ts';
export { firstServiceAddress, serviceNetwork } from './registry/core/services/ipv4.ts';
export { NodePortCheck } from './registry/core/services/node-port-check.ts';
export type { NodePortRegistry, RangeAllocation } from './registry/core/services/node-ports.ts';
export { GenericStore, type GenericStoreOptions, type StoreHooks } from './registry/generic-store.ts';
export { InProcessClient, type InProcessClientOptions } from './registry/in-process-client.ts';
export { kubernetesTypes } from './registry/kubernetes-types.ts';
export type { FieldsCall, ManagedFieldsTracker } from './registry/managed-fields-tracker.ts';
export { ObjectReader } from './registry/object-reader.ts';
export type { ObjectPatching } from './registry/object-writes.ts';
export type { RequestContext, UserInfo } from './registry/request-context.ts';
export type { ResourceDefinition } from './registry/resource-definition.ts';
export { ResourceStack, type ResourceStackOptions } from './registry/resource-stack.ts';
export type { ResourceStore } from './registry/resource-store.ts';
export type { ResourceStrategy } from './registry/strategy.ts';
export { type VirtualKind, virtualResource } from './registry/virtual-resource.ts';
export { type VirtualRules, VirtualStore, type VirtualStoreOptions } from './registry/virtual-store.ts';
export { LargeObjectValidation, validationWorker } from './validation/large-object-validation.ts';
export { type DefinitionMaker, type DefinitionMakers, runValidationThread } from './validation/validation-thread.ts';
