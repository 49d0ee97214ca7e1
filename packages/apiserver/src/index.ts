export type {
  AdmissionOperation,
  AdmissionRequest,
  AdmissionResponse,
  AdmissionUser,
  DenialStatus,
  OperationOptions,
} from '@kapstan/api/internal';
export {
  AdmissionChain,
  type AdmissionChainOptions,
  type AdmissionFlags,
  admissionNamesError,
} from './admission/admission-chain.ts';
export { type PluginConfiguration, parseAdmissionConfiguration } from './admission/plugin/admission-configuration.ts';
export type { AdmissionPlugin } from './admission/plugin/admission-plugin.ts';
export {
  allOperations,
  type BuiltInPlugin,
  configured,
  type PluginPorts,
  type PluginSet,
} from './admission/plugin-set.ts';
export {
  type AdmissionAnswer,
  type AdmissionFunction,
  type AdmissionFunctionCall,
  type AdmissionFunctionOptions,
  AdmissionFunctions,
  admit,
} from './admission/webhook/admission-functions.ts';
export { admitWithHook } from './admission/webhook/hook-functions.ts';
export { type ApiRegistration, type RemoteApi, rootPathOf } from './aggregation/api-registration.ts';
export { ApiRegistrations, type ApiRegistrationsOptions } from './aggregation/api-registrations.ts';
export { type ConvertedDocument, convertOpenApi } from './aggregation/converted-openapi.ts';
export { type RemoteDiscovery, readGroupDiscovery, readResourceList } from './aggregation/remote-discovery.ts';
export {
  fetchRemote,
  fetchRemoteHead,
  type RemoteDocument,
  type RemoteDocumentRequest,
} from './aggregation/remote-fetch.ts';
export { type RemoteOpenApi, readOpenApiIndex } from './aggregation/remote-openapi.ts';
export type { ProxyCertificate, RemoteServer } from './aggregation/remote-server.ts';
export { type RemoteSwagger, readRemoteSwagger } from './aggregation/remote-swagger.ts';
export {
  type AuditBatching,
  type AuditMode,
  type AuditThrottle,
  type AuditTruncation,
  auditModes,
} from './audit/audit-backend.ts';
export { AuditBackends, type AuditBackendsOptions, type AuditDelivery } from './audit/audit-backends.ts';
export { type AuditLogFormat, type AuditLogTarget, auditLogFormats } from './audit/audit-log.ts';
export type { AuditWebhookTarget } from './audit/audit-webhook.ts';
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
export {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  parseAuthenticationConfiguration,
} from './authn/jwt/authentication-configuration.ts';
export { JwtAuthenticators, type JwtAuthenticatorsOptions } from './authn/jwt/jwt-authenticators.ts';
export type { RequestHeaderOptions } from './authn/request-header-names.ts';
export {
  bearerAuthenticator,
  knownTokens,
  type TokenAuthenticationOptions,
  type TokenAuthenticator,
  type TokenResult,
  tokenAuthenticator,
} from './authn/token-authenticator.ts';
export { parseTokenFile } from './authn/token-file.ts';
export { TokenCache, type TokenCacheOptions } from './authn/token-webhook/token-cache.ts';
export { TokenCacheMetrics } from './authn/token-webhook/token-cache-metrics.ts';
export { TokenWebhook, type TokenWebhookOptions } from './authn/token-webhook/token-webhook.ts';
export { webSocketAuthenticator } from './authn/websocket-protocol.ts';
export type { ReviewSpec, ReviewStatus } from './authz/access-review.ts';
export { attributeAuthorizer } from './authz/attribute-authorizer.ts';
export { type AttributePolicies, parseAttributePolicies } from './authz/attribute-policy.ts';
export {
  type AuthorizerConfiguration,
  parseAuthorizationConfiguration,
  type WebhookConfiguration,
} from './authz/authorization-configuration.ts';
export { AuthorizationMetrics } from './authz/authorization-metrics.ts';
export { type CheckedAuthorizers, checkAuthorizers, nameOfType, sameAuthorizers } from './authz/authorization-rules.ts';
export {
  type AuthorizationAttributes,
  type AuthorizationDecision,
  type Authorizer,
  alwaysAllow,
  alwaysDeny,
  type UserRules,
} from './authz/authorizer.ts';
export { mastersAuthorizer, mastersGroup } from './authz/masters-authorizer.ts';
export { type Grant, type RuleSource, rbacAuthorizer } from './authz/rbac-authorizer.ts';
export type { ReviewConditions } from './authz/review-conditions.ts';
export { type GrantedRules, RuleList } from './authz/rule-list.ts';
export { unionAuthorizer } from './authz/union-authorizer.ts';
export { WebhookAuthorizer } from './authz/webhook-authorizer.ts';
export {
  isStorageMediaType,
  type ResourceCodecOptions,
  type StorageMediaType,
  storageCodec,
  storageCodecOf,
  storageMediaTypes,
} from './codec/storage-codec.ts';
export { type VersionInfo, versionInfo } from './discovery/version-info.ts';
export { FieldManager, type FieldManagerOptions } from './fieldmanager/field-manager.ts';
export { FlowControl, type FlowControlOptions } from './flowcontrol/flow-control.ts';
export type {
  FlowConfiguration,
  FlowRule,
  FlowSchema,
  FlowSubject,
  PathFlowRule,
  PriorityLevelConfig,
  Queuing,
  ResourceFlowRule,
} from './flowcontrol/flow-schema.ts';
export type { ObjectStats } from './flowcontrol/work-estimator.ts';
export type { Page, PageAnswer, PageRequest } from './http/exchange/page.ts';
export type { HealthCheck } from './http/paths/health.ts';
export type { AuditOptions } from './http/request/request-audit.ts';
export { type LoggedRequest, RequestLog, type RequestLogOptions } from './http/request/request-log.ts';
export { type ApiServer, type ServerCertificates, startApiServer } from './http/server/api-server.ts';
export type { ApiServerOptions, IncomingRequest } from './http/server/api-server-options.ts';
export type { ShutdownOptions } from './http/server/graceful-shutdown.ts';
export type { TlsOptions } from './http/server/http-server.ts';
export type { KubeletOptions } from './http/tunnel/tunnel-transport.ts';
export type { OpenWatch } from './http/watch/watch-response-options.ts';
export { objectPatching } from './object-patching.ts';
export type { ResolveService, ServiceAddress, ServiceReference } from './peer/service-address.ts';
export { InProcessClient, type InProcessClientOptions } from './registry/client/in-process-client.ts';
export { ObjectReader } from './registry/client/object-reader.ts';
export type { ObjectPatching } from './registry/client/object-writes.ts';
export { ResourceCatalog, type ServedResource } from './registry/definition/catalog.ts';
export { mirrorCatalog } from './registry/definition/catalog-mirror.ts';
export type { RequestContext, UserInfo } from './registry/definition/request-context.ts';
export type { ResourceDefinition } from './registry/definition/resource-definition.ts';
export type { ResourceStore } from './registry/definition/resource-store.ts';
export { type SchemaKind, schemaResource } from './registry/definition/schema-resource.ts';
export type { ResourceStrategy } from './registry/definition/strategy.ts';
export type { AdmissionAttributes, AdmissionControl } from './registry/store/admission-control.ts';
export { GenericStore, type GenericStoreOptions, type StoreHooks } from './registry/store/generic-store.ts';
export type { FieldsCall, ManagedFieldsTracker } from './registry/store/managed-fields-tracker.ts';
export { ResourceStack, type ResourceStackOptions } from './registry/store/resource-stack.ts';
export { type VirtualRules, VirtualStore, type VirtualStoreOptions } from './registry/store/virtual-store.ts';
export { formatGoDuration } from './schema/go/go-duration.ts';
export { JobThread, type JobThreadOptions } from './schema/job-thread.ts';
export { limitedWorker } from './schema/limited-worker.ts';
export { Age, timeSince } from './table/age.ts';
export type { TableColumn, TableConvertor } from './table/table.ts';
export { RequestTracer, type RequestTracerOptions } from './tracing/request-tracer.ts';
export type { FinishedSpan, SpanEvent, SpanKind, SpanSink, SpanValue } from './tracing/span.ts';
export { parseTracingConfiguration, type TracingConfiguration } from './tracing/tracing-configuration.ts';
export { LargeObjectValidation, validationWorker } from './validation/large-object-validation.ts';
export { sharePatternThread } from './validation/pattern-jobs.ts';
export { type DefinitionMaker, type DefinitionMakers, runValidationThread } from './validation/validation-thread.ts';
export { WebhookPool, type WebhookPoolOptions } from './webhook/webhook-pool.ts';
export type { WebhookIdentity, WebhookService, WebhookTarget } from './webhook/webhook-target.ts';
