// Reads the review of a token that a webhook answers, with kube-apiserver's errors for malformed ones. Used by
// token-webhook.ts. Source: client-go rest.Result.Into.
import { goQuote, isJsonObject, JsonSyntaxError, type SlicedWork } from '@kapstan/api/internal';
import { listSchema, structSchema, textSchema, textsSchema } from '../../schema/configuration-file.ts';
import { kindRegistry, typeMeta } from '../../schema/decode-object.ts';
import { StrictErrors } from '../../schema/field-validation.ts';
import { decodeText, readJsonText } from '../../schema/json-reader.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import { DecodeError, decodeTypedInSlices } from '../../schema/typed-decoder.ts';

/** The kind of a review is passed in, because this library does not know its name. */
export interface ReviewKind {
  readonly group: string;
  readonly version: 'v1' | 'v1beta1';
  readonly kind: string;
}

export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: {
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[] | null>>;
  };
  readonly audiences?: readonly string[];
  readonly error?: string;
}

function schemaOf({ version, kind }: ReviewKind): SchemaNode {
  return structSchema(`${version}.${kind}`, {
    kind: textSchema,
    apiVersion: textSchema,
    status: structSchema(`${version}.${kind}Status`, {
      authenticated: { type: 'boolean' },
      user: structSchema(`${version}.UserInfo`, {
        username: textSchema,
        uid: textSchema,
        groups: textsSchema,
        extra: { type: 'object', additionalProperties: listSchema(textSchema) },
      }),
      audiences: textsSchema,
      error: textSchema,
    }),
  });
}

/** Returns the webhook's answer. Throws an Error for everything that kube-apiserver treats as a failed call. */
export function* readReviewStatus(body: Uint8Array, expected: ReviewKind): SlicedWork<TokenReviewStatus> {
  try {
    const { value, repeats } = yield* readJsonText(decodeText(body));
    if (Array.isArray(value))
      throw new DecodeError(`${unread} json: cannot unmarshal array into Go value of type ${typeMeta}`);
    const wrong = kindFault(isJsonObject(value) ? value : {}, expected);
    if (wrong !== undefined) throw new DecodeError(wrong);
    const options = { schema: schemaOf(expected), strict: new StrictErrors(), repeats, words: 'json' } as const;
    const review = (yield* decodeTypedInSlices(value, options)) as { readonly status?: TokenReviewStatus } | undefined;
    return review?.status ?? {};
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw new Error(`${unread} ${syntaxFault(body, error)}`, { cause: error });
    }
    throw error;
  }
}

const unread = "couldn't get version/kind; json parse error:";

/** Text that does not begin like a JSON object is read as YAML, where plain text is a string. */
function syntaxFault(body: Uint8Array, { message }: JsonSyntaxError): string {
  const isObject = decodeText(body).trimStart().startsWith('{');
  return isObject ? message : `json: cannot unmarshal string into Go value of type ${typeMeta}`;
}

/** Returns the fault of the kind that an answer names. An answer without a kind is accepted as the expected one. */
function kindFault(said: Readonly<Record<string, unknown>>, { group, version, kind }: ReviewKind): string | undefined {
  const { kind: saidKind = '', apiVersion: saidVersion = '' } = said;
  if (typeof saidKind !== 'string' || typeof saidVersion !== 'string') return undefined;
  const unconverted = (type: string): string => `converting (${type}) to (${version}.${kind}): unknown conversion`;
  const named = { kind: saidKind || kind, apiVersion: saidVersion || `${group}/${version}` };
  if (named.apiVersion === 'v1' && named.kind === 'Status') return unconverted('v1.Status');
  const isVersion = [`${group}/v1`, `${group}/v1beta1`].includes(named.apiVersion);
  if (named.kind !== kind || !isVersion) {
    return `no kind ${goQuote(named.kind)} is registered for version ${goQuote(named.apiVersion)} ${kindRegistry}`;
  }
  if (named.apiVersion === `${group}/${version}`) return undefined;
  return unconverted(`${named.apiVersion.slice(group.length + 1)}.${kind}`);
}
