// Reads the answer of a webhook as kube-apiserver does: whatever the answer calls itself, text that begins with "{" is JSON and any other is
// YAML. Used by webhook-answer.ts and review-document.ts. Source: apimachinery serializer/recognizer, json.Serializer.
import type { SlicedWork } from '@kapstan/api/internal';
import { decodeText, type JsonDocument, readJsonText } from '../schema/json-reader.ts';
import { readYaml, TooManyTokensError, YamlSyntaxError } from '../schema/yaml-reader.ts';

/** YAML is read in one turn, so that no more of it is read than takes some ten milliseconds. Webhooks answer with JSON. */
const maxYamlBytes = 64 * 1024;
const maxYamlTokens = 4_000;

/**
 * Returns the value of the first document; null for an empty text. Throws JsonSyntaxError, and YamlSyntaxError also for
 * YAML that is too long.
 */
export function* readWebhookDocument(body: Uint8Array): SlicedWork<JsonDocument> {
  const text = decodeText(body);
  // A byte order mark is a part of YAML, and `trimStart` would drop it.
  if (/^[ \t\r\n\v\f\u0085\u00a0]*\{/.test(text)) return yield* readJsonText(text);
  if (body.length > maxYamlBytes) throw tooLong();
  try {
    return { value: readYaml(text, { maxTokens: maxYamlTokens }).value, repeats: new Map() };
  } catch (error) {
    throw error instanceof TooManyTokensError ? tooLong() : error;
  }
}

function tooLong(): YamlSyntaxError {
  return new YamlSyntaxError('the text is too long; answer with JSON');
}
