// AuthenticationConfiguration: the file of --authentication-config. It lists the issuers whose JSON Web Tokens are accepted, how their
// claims become users, and the paths that serve anonymous requests. configuration-rules.ts checks it further. Source: apiserver
// pkg/apis/apiserver (1.36).
import {
  decodeConfiguration,
  fileSchema,
  listSchema,
  structSchema,
  textSchema,
  textsSchema,
} from '../../schema/configuration-file.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';

/** The file of `--authentication-config`, read. */
export interface AuthenticationConfiguration {
  readonly jwt?: readonly JwtConfiguration[] | undefined;
  /** Absent = the caller decides. */
  readonly anonymous?: AnonymousConfiguration | undefined;
}

/**
 * Whether, and at which paths, requests without credentials are served. Source:
 * AuthenticationConfiguration.anonymous.
 */
export interface AnonymousConfiguration {
  readonly enabled?: boolean | undefined;
  /** Paths at which anonymous requests are served. Absent or empty = all. */
  readonly conditions?: readonly { readonly path?: string | undefined }[] | undefined;
}

/** One issuer, and how its tokens become users. */
export interface JwtConfiguration {
  readonly issuer?: IssuerConfiguration | undefined;
  readonly claimValidationRules?: readonly ClaimValidationRule[] | undefined;
  readonly claimMappings?: ClaimMappings | undefined;
  readonly userValidationRules?: readonly UserValidationRule[] | undefined;
}

export interface IssuerConfiguration {
  /** The claim "iss" of its tokens. */
  readonly url?: string | undefined;
  /** URL of its discovery document. Default: below `url`. */
  readonly discoveryURL?: string | undefined;
  /** PEM. Absent = the authorities of the system. */
  readonly certificateAuthority?: string | undefined;
  readonly audiences?: readonly string[] | undefined;
  readonly audienceMatchPolicy?: string | undefined;
  readonly egressSelectorType?: string | undefined;
}

export interface ClaimValidationRule {
  readonly claim?: string | undefined;
  readonly requiredValue?: string | undefined;
  readonly expression?: string | undefined;
  readonly message?: string | undefined;
}

export interface UserValidationRule {
  readonly expression?: string | undefined;
  readonly message?: string | undefined;
}

export interface ClaimMappings {
  readonly username?: PrefixedClaimOrExpression | undefined;
  readonly groups?: PrefixedClaimOrExpression | undefined;
  readonly uid?: ClaimOrExpression | undefined;
  readonly extra?: readonly ExtraMapping[] | undefined;
}

export interface ClaimOrExpression {
  readonly claim?: string | undefined;
  readonly expression?: string | undefined;
}

export interface PrefixedClaimOrExpression extends ClaimOrExpression {
  readonly prefix?: string | undefined;
}

export interface ExtraMapping {
  readonly key?: string | undefined;
  readonly valueExpression?: string | undefined;
}

const kind = 'AuthenticationConfiguration';
const kinds = new Map(['v1', 'v1beta1', 'v1alpha1'].map((version) => [`apiserver.config.k8s.io/${version}`, kind]));

const flag: SchemaNode = { type: 'boolean' };
const claimOrExpression = { claim: textSchema, expression: textSchema };
const prefixed = structSchema('v1.PrefixedClaimOrExpression', { ...claimOrExpression, prefix: textSchema });

const schema = fileSchema(`v1.${kind}`, {
  jwt: listSchema(
    structSchema('v1.JWTAuthenticator', {
      issuer: structSchema('v1.Issuer', {
        url: textSchema,
        discoveryURL: textSchema,
        certificateAuthority: textSchema,
        audiences: textsSchema,
        audienceMatchPolicy: textSchema,
        egressSelectorType: textSchema,
      }),
      claimValidationRules: listSchema(
        structSchema('v1.ClaimValidationRule', {
          claim: textSchema,
          requiredValue: textSchema,
          expression: textSchema,
          message: textSchema,
        }),
      ),
      claimMappings: structSchema('v1.ClaimMappings', {
        username: prefixed,
        groups: prefixed,
        uid: structSchema('v1.ClaimOrExpression', claimOrExpression),
        extra: listSchema(structSchema('v1.ExtraMapping', { key: textSchema, valueExpression: textSchema })),
      }),
      userValidationRules: listSchema(
        structSchema('v1.UserValidationRule', { expression: textSchema, message: textSchema }),
      ),
    }),
  ),
  anonymous: structSchema('v1.AnonymousAuthConfig', {
    enabled: flag,
    conditions: listSchema(structSchema('v1.AnonymousAuthCondition', { path: textSchema })),
  }),
});

/** Parses the file. Throws an Error that describes the fault; unknown and repeated fields are refused. */
export function parseAuthenticationConfiguration(text: string): AuthenticationConfiguration {
  if (text === '') throw new Error('empty config data');
  return decodeConfiguration(text, { kinds, schema }) as AuthenticationConfiguration;
}
