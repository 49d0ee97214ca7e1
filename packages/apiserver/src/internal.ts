// Exports of @kapstan/apiserver for the packages of this repository alone. They change without notice.

export { ConditionMetrics } from './admission/matching/condition-metrics.ts';
export { EquivalentResources } from './admission/matching/equivalent-resources.ts';
export { MatchConditions } from './admission/matching/match-conditions.ts';
export {
  CompileFault,
  type ExpressionAge,
  RequestExpressions,
} from './admission/matching/request-expressions.ts';
export { type NamespaceReader, RequestMatching } from './admission/matching/request-matching.ts';
export { isAbout, refuse } from './admission/plugin/admission-plugin.ts';
export { MutatingPolicies } from './admission/policy/mutating-policies.ts';
export {
  compileMutatingPolicy,
  type MutatingPolicy,
  type MutatingPolicySpec,
} from './admission/policy/mutating-policy.ts';
export { type ExpressionPurpose, PolicyExpressions } from './admission/policy/policy-expressions.ts';
export { PolicyMetrics } from './admission/policy/policy-metrics.ts';
export type { PolicyPorts } from './admission/policy/policy-ports.ts';
export type {
  AdmissionPolicy,
  BoundPolicy,
  ParamKind,
  ParamKinds,
  ParamRef,
  ParamResource,
  PolicyBinding,
  PolicySource,
} from './admission/policy/policy-source.ts';
export { type CriteriaSpec, RequestCriteria } from './admission/policy/request-criteria.ts';
export { checkTypes, type ExpressionWarning, type KindSchemas } from './admission/policy/type-checking.ts';
export { ValidatingPolicies } from './admission/policy/validating-policies.ts';
export {
  compileValidatingPolicy,
  type ValidatingPolicy,
  type ValidatingPolicySpec,
} from './admission/policy/validating-policy.ts';
export { type AdmissionWebhook, admissionWebhook, type WebhookSource } from './admission/webhook/admission-webhook.ts';
export { MutatingWebhooks } from './admission/webhook/mutating-webhooks.ts';
export { ValidatingWebhooks } from './admission/webhook/validating-webhooks.ts';
export { RemoteCaller } from './admission/webhook/webhook-caller.ts';
export { WebhookMatching } from './admission/webhook/webhook-matching.ts';
export { WebhookMetrics } from './admission/webhook/webhook-metrics.ts';
export type { WebhookPorts } from './admission/webhook/webhook-run.ts';
export type { AuditLevel, AuditPolicy } from './audit/audit-policy.ts';
export {
  type AuthenticationRemarks,
  authenticate,
  serviceAccountsGroup,
  withAuthenticatedGroup,
} from './authn/authenticator.ts';
export { contentOf, type DerValue, objectId, readDerValues, sequence } from './authn/der-values.ts';
export { authenticateToken } from './authn/token-authenticator.ts';
export { unverifiedClaims } from './authn/token-claims.ts';
export { forbiddenError, refusalReason, type SelectorTerms } from './authz/authorizer.ts';
export { joinErrors, rulesOf } from './authz/rbac-authorizer.ts';
export { type Rule, ruleAllows, urlCovers } from './authz/rule-matching.ts';
export { parsedTerms } from './authz/selector-terms.ts';
export { encodeMessage } from './codec/protobuf-encoder.ts';
export { readEnvelope, wrapMessage } from './codec/protobuf-envelope.ts';
export { compareVersions } from './discovery/discovery-index.ts';
export { hasLostMembers } from './fieldmanager/lost-members.ts';
export { rootSchema } from './fieldmanager/schema-atom.ts';
export { type HttpServer, startHttpServer } from './http/server/http-server.ts';
export { KeptAnswers, type KeptAnswersOptions } from './peer/kept-answers.ts';
export { requireComplete } from './registry/definition/complete-definition.ts';
export {
  defaultStrategy,
  startGeneration,
  statusStrategy,
  withoutStatus,
} from './registry/definition/default-strategy.ts';
export type { DefinitionOrigin } from './registry/definition/definition-origin.ts';
export {
  type Connection,
  formatQuery,
  type NamedPort,
  parseNamedPort,
  parsePort,
} from './registry/definition/destination.ts';
export { KindCatalogue } from './registry/definition/kind-catalogue.ts';
export type { KindFacts, ResourceFacts } from './registry/definition/kind-facts.ts';
export type { ConversionContext, ObjectConversion } from './registry/definition/object-conversion.ts';
export type {
  ByteSubresource,
  Connecter,
  FinishReservation,
  ObjectSubresource,
  QueryOptions,
  QueryOptionTypes,
  ResourceAllocation,
  StrategySubresource,
  Subresource,
} from './registry/definition/resource-definition.ts';
export type {
  DeleteAnswer,
  DeleteRequest,
  SelectRequest,
  SentPart,
  TrackFields,
  UpdateAnswer,
  UpdateRequest,
  WatchRequest,
} from './registry/definition/resource-store.ts';
export { changeScaled } from './registry/definition/scale-managed-fields.ts';
export { serverContext } from './registry/definition/server-context.ts';
export type { PermitWrite } from './registry/definition/strategy.ts';
export type { TypedKind } from './registry/definition/typed-kind.ts';
export { typedResource } from './registry/definition/typed-resource.ts';
export { subresourceStrategy } from './registry/definition/typed-strategy.ts';
export {
  collectFieldErrors,
  collectFieldErrorsInSlices,
  Field,
  type ServerCapabilities,
} from './registry/meta/field.ts';
export { jsonEqual, jsonEqualInSlices } from './registry/meta/json-equality.ts';
export { generateName } from './registry/meta/name-generator.ts';
export {
  dns1035LabelErrors,
  type NameRule,
  nameIsDnsLabel,
  nameIsDnsSubdomain,
  nameIsPathSegment,
  nameIsWholePathSegment,
  pathSegmentErrors,
} from './registry/meta/names.ts';
export { metaOf } from './registry/meta/object-meta.ts';
export { annotationErrors, labelErrors, validateObjectMeta } from './registry/meta/object-meta-validation.ts';
export { validateSubdomainSegments } from './registry/meta/subdomain-segments.ts';
export { requirePreconditions } from './registry/store/before-delete.ts';
export { requireValidDeleteRequest } from './registry/store/delete-request.ts';
export { requireKeyName } from './registry/store/key-functions.ts';
export type { LargeValidationCall } from './registry/store/large-validation.ts';
export { findingsOf, type ValidationCall } from './registry/store/validation-run.ts';
export {
  decodeConfiguration,
  fileSchema,
  integerSchema,
  listSchema,
  structSchema,
  textSchema,
  textsSchema,
} from './schema/configuration-file.ts';
export { CorrelatedObject } from './schema/correlated-object.ts';
export {
  embeddedFault,
  interpretKind,
  kindRegistry,
  readDocument,
  readDocumentInSlices,
  typeMeta,
} from './schema/decode-object.ts';
export { applySchemaDefaults, schemaDefaultsInSlices } from './schema/defaulting.ts';
export { StrictErrors } from './schema/field-validation.ts';
export { isKnownFormat } from './schema/formats/string-formats.ts';
export { hasSentEmpty } from './schema/go/decoded-empties.ts';
export { makeNumbersPlainInSlices } from './schema/go/go-number.ts';
export { GoValueError } from './schema/go/go-value-error.ts';
export { readJson } from './schema/json-reader.ts';
export { KeyedItems } from './schema/keyed-items.ts';
export { metadataDescription, metaTypes, scaleDefinition } from './schema/meta-types.ts';
export type { SchemaNode } from './schema/node/schema-node.ts';
export { dropNullsInSlices } from './schema/null-pruning.ts';
export { compilePattern } from './schema/pattern.ts';
export { pruneInSlices, pruneUnknownFields } from './schema/pruning.ts';
export { type JsonSchema, structuralSchema } from './schema/structural-schema.ts';
export { TypeRegistry } from './schema/type-registry.ts';
export { DecodeError, decodeTyped, decodeTypedInSlices } from './schema/typed-decoder.ts';
export { compileValidator } from './schema/value-validation.ts';
export type { ValueValidator } from './schema/value-validator.ts';
export { defaultTable } from './table/default-table.ts';
export { humanDuration } from './table/human-duration.ts';
export { ageOf, nameOf } from './table/name-and-age.ts';
export { cellsAt, RowCells } from './table/row-cells.ts';
export { scaleTable } from './table/scale-table.ts';
export { type ClientConfig, caBundleFault, validateClientConfig } from './webhook/client-config-validation.ts';
export { readReviewDocument } from './webhook/review-document.ts';
export { WebhookError, type WebhookPoolAnswer } from './webhook/webhook-pool.ts';
export { webhookTarget } from './webhook/webhook-target.ts';
