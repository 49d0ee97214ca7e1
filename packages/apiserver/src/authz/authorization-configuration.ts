// AuthorizationConfiguration: the file of --authorization-config. Reads it strictly and fills in defaults;
// authorization-rules.ts checks it further. Source: apiserver pkg/apis/apiserver/load, pkg/apis/apiserver/v1.
import { parseDuration } from '@kapstan/api';
import { decodeConfiguration, fileSchema, listSchema, structSchema, textSchema } from '../schema/configuration-file.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';

/** One authorizer of the file of `--authorization-config`. */
export interface AuthorizerConfiguration {
  readonly type: string;
  readonly name: string;
  readonly webhook: WebhookConfiguration | undefined;
}

/** The settings of an authorizer that asks a webhook. */
export interface WebhookConfiguration {
  /** Time for one call. 0 = not given. */
  readonly timeoutMs: number;
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly cachesAuthorized: boolean;
  readonly cachesUnauthorized: boolean;
  /** Version of the reviews that are sent. */
  readonly reviewVersion: string;
  /** Version of the reviews that match conditions see. */
  readonly conditionReviewVersion: string;
  readonly failurePolicy: string;
  readonly connection: { readonly type: string; readonly kubeConfigFile: string | undefined };
  /** Expressions that all must hold for a request to reach the webhook. */
  readonly matchConditions: readonly string[];
}

const versions = ['v1', 'v1beta1', 'v1alpha1'];
const expected = 'AuthorizationConfiguration';
const kinds = new Map(versions.map((version) => [`apiserver.config.k8s.io/${version}`, expected]));
const others = {
  expected,
  goPackage: 'apiserver',
  kinds: new Set([
    'AdmissionConfiguration',
    'AuthenticationConfiguration',
    'EgressSelectorConfiguration',
    'EncryptionConfiguration',
    'TracingConfiguration',
  ]),
};
const flag: SchemaNode = { type: 'boolean' };
const webhook = structSchema('v1.WebhookConfiguration', {
  authorizedTTL: textSchema,
  cacheAuthorizedRequests: flag,
  unauthorizedTTL: textSchema,
  cacheUnauthorizedRequests: flag,
  timeout: textSchema,
  subjectAccessReviewVersion: textSchema,
  matchConditionSubjectAccessReviewVersion: textSchema,
  failurePolicy: textSchema,
  connectionInfo: structSchema('v1.WebhookConnectionInfo', { type: textSchema, kubeConfigFile: textSchema }),
  matchConditions: listSchema(structSchema('v1.WebhookMatchCondition', { expression: textSchema })),
});
const schema = fileSchema('v1.AuthorizationConfiguration', {
  authorizers: listSchema(structSchema('v1.AuthorizerConfiguration', { type: textSchema, name: textSchema, webhook })),
});

interface WebhookFields {
  readonly authorizedTTL?: string;
  readonly cacheAuthorizedRequests?: boolean;
  readonly unauthorizedTTL?: string;
  readonly cacheUnauthorizedRequests?: boolean;
  readonly timeout?: string;
  readonly subjectAccessReviewVersion?: string;
  readonly matchConditionSubjectAccessReviewVersion?: string;
  readonly failurePolicy?: string;
  readonly connectionInfo?: { readonly type?: string; readonly kubeConfigFile?: string };
  readonly matchConditions?: readonly ({ readonly expression?: string } | null)[];
}

interface AuthorizerFields {
  readonly type?: string;
  readonly name?: string;
  readonly webhook?: WebhookFields | null;
}

/** Returns the authorizers in their order. Throws an Error that describes the fault of the text. */
export function parseAuthorizationConfiguration(text: string): readonly AuthorizerConfiguration[] {
  if (text === '') return [];
  try {
    const decoded = decodeConfiguration(text, { kinds, schema, others });
    const { authorizers } = decoded as { readonly authorizers?: readonly (AuthorizerFields | null)[] | null };
    return (authorizers ?? []).map((fields) => authorizerOf(fields ?? {}));
  } catch (error) {
    throw new Error(`failed to load AuthorizationConfiguration from file: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function authorizerOf({ type = '', name = '', webhook: fields }: AuthorizerFields): AuthorizerConfiguration {
  return { type, name, webhook: fields === undefined || fields === null ? undefined : webhookOf(fields) };
}

function webhookOf(fields: WebhookFields): WebhookConfiguration {
  const { connectionInfo = {}, matchConditions } = fields;
  return {
    timeoutMs: durationOf(fields.timeout),
    authorizedTtlMs: durationOf(fields.authorizedTTL) || 300_000,
    unauthorizedTtlMs: durationOf(fields.unauthorizedTTL) || 30_000,
    cachesAuthorized: fields.cacheAuthorizedRequests ?? true,
    cachesUnauthorized: fields.cacheUnauthorizedRequests ?? true,
    reviewVersion: fields.subjectAccessReviewVersion ?? '',
    conditionReviewVersion: fields.matchConditionSubjectAccessReviewVersion ?? '',
    failurePolicy: fields.failurePolicy ?? '',
    connection: { type: connectionInfo.type ?? '', kubeConfigFile: connectionInfo.kubeConfigFile },
    matchConditions: (matchConditions ?? []).map((condition) => condition?.expression ?? ''),
  };
}

/** Throws Go's text for one that cannot be read. */
function durationOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const ms = parseDuration(text);
  if (typeof ms === 'number') return ms;
  throw new Error(ms.error);
}
