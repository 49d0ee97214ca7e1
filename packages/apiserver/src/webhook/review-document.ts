// Reads the review that a webhook answers, and checks its kind, with the errors of kube-apiserver. Used for reviews of admission, of tokens and
// of access, and for conversions. Source: client-go rest.Result.Into, apimachinery serializer/json.
import { formatApiVersion, goQuote, JsonSyntaxError, type SlicedWork } from '@kapstan/api/internal';
import { interpretKind, kindRegistry } from '../schema/decode-object.ts';
import type { JsonDocument } from '../schema/json-reader.ts';
import { DecodeError } from '../schema/typed-decoder.ts';
import { YamlSyntaxError } from '../schema/yaml-reader.ts';
import { readWebhookDocument } from './webhook-document.ts';

/** The kind is passed in, because this library does not know its name. */
export interface ReviewKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What an answer may be: its body, and what errors tell about it. */
export interface ReviewAnswer {
  readonly body: Uint8Array;
  readonly code: number;
  /** "" = the webhook sent none. */
  readonly contentType: string;
}

/** The type that was asked for counts where an answer has none. */
const asked = 'application/json';
/** The versions of every kind of review. Each is registered, so another one than the wanted is a review of the wrong version. */
const versions: readonly string[] = ['v1', 'v1beta1'];

/**
 * Returns the review, not decoded. One that names no kind counts as the expected one. Throws DecodeError with the text that kube-apiserver has
 * for the failed call.
 */
export function* readReviewDocument(answer: ReviewAnswer, expected: ReviewKind): SlicedWork<JsonDocument> {
  const { body, code, contentType } = answer;
  if (body.length === 0)
    throw new DecodeError(`0-length response with status code: ${code} and content type: ${contentType || asked}`);
  try {
    const document = yield* readWebhookDocument(body);
    requireKind(document.value, expected);
    return document;
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw new DecodeError(error.message, { cause: error });
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new DecodeError(`couldn't get version/kind; json parse error: ${error.message}`, { cause: error });
  }
}

function requireKind(value: unknown, expected: ReviewKind): void {
  const said = interpretKind(value, expected);
  const wanted = `${expected.version}.${expected.kind}`;
  if (said.group === '' && said.version === 'v1' && said.kind === 'Status') throw unconverted('v1.Status', wanted);
  if (said.kind !== expected.kind || said.group !== expected.group || !versions.includes(said.version)) {
    const version = goQuote(formatApiVersion(said));
    throw new DecodeError(`no kind ${goQuote(said.kind)} is registered for version ${version} ${kindRegistry}`);
  }
  if (said.version !== expected.version) throw unconverted(`${said.version}.${said.kind}`, wanted);
}

function unconverted(type: string, wanted: string): DecodeError {
  return new DecodeError(`converting (${type}) to (${wanted}): unknown conversion`);
}
