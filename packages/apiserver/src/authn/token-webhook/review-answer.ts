// Reads the review of a token that a webhook answers, with kube-apiserver's errors for malformed ones. Used by
// token-webhook.ts. Source: client-go rest.Result.Into.
import type { SlicedWork } from '@kapstan/api/internal';
import { listSchema, structSchema, textSchema, textsSchema } from '../../schema/configuration-file.ts';
import { StrictErrors } from '../../schema/field-validation.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import { decodeTypedInSlices } from '../../schema/typed-decoder.ts';
import { type ReviewAnswer, type ReviewKind, readReviewDocument } from '../../webhook/review-document.ts';

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

/** Returns the webhook's answer. Throws DecodeError for everything that kube-apiserver treats as a failed call. */
export function* readReviewStatus(answer: ReviewAnswer, expected: ReviewKind): SlicedWork<TokenReviewStatus> {
  const { value, repeats } = yield* readReviewDocument(answer, expected);
  const options = { schema: schemaOf(expected), strict: new StrictErrors(), repeats, words: 'json' } as const;
  const review = (yield* decodeTypedInSlices(value, options)) as { readonly status?: TokenReviewStatus } | undefined;
  return review?.status ?? {};
}
