// The thread that reads long YAML, so that nobody waits for it but who sent it. Started, fed and ended by http/request/yaml-bodies.ts,
// one text at a time.
import { parentPort } from 'node:worker_threads';
import { stringifyJson } from '@kapstan/api';
import { readYaml, TooManyTokensError, YamlSyntaxError } from './yaml-reader.ts';

/** 100,000 lines of `- a`: read in a second or two, not minutes. What somebody would write has some ten bytes a token, so up to 5 MB. */
const maxTokens = 500_000;

/** What comes back for a text. `json` stands for the value: it keeps all digits, and is read many times as fast. */
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
