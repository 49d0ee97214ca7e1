// The thread that reads long YAML, one text at a time, so that only the sender of a text waits for it. Started, fed and
// ended by http/request/yaml-bodies.ts.
import { parentPort } from 'node:worker_threads';
import { stringifyJson } from '@kapstan/api';
import { readYaml, TooManyTokensError, YamlSyntaxError } from './yaml-reader.ts';

/**
 * 100,000 lines of `- a` take a second or two to read. Text written by people has about ten bytes per token, so this
 * allows 5 MB.
 */
const maxTokens = 500_000;

/** The answer for a text. `json` holds the value as text, which keeps all digits and is parsed many times faster. */
export type YamlAnswer =
  | { readonly type: 'document'; readonly json: string; readonly duplicates: readonly string[] }
  | { readonly type: 'syntax'; readonly message: string }
  | { readonly type: 'tooLarge'; readonly message: string };

function answer(text: string): YamlAnswer {
  try {
    const { value, duplicates } = readYaml(text, { maxTokens });
    return { type: 'document', json: stringifyJson(value), duplicates };
  } catch (error) {
    if (error instanceof YamlSyntaxError) return { type: 'syntax', message: error.reason };
    if (error instanceof TooManyTokensError) return { type: 'tooLarge', message: error.message };
    if (error instanceof RangeError) return { type: 'syntax', message: 'exceeded max depth' };
    throw error;
  }
}

parentPort?.on('message', (text: string) => parentPort?.postMessage(answer(text)));
