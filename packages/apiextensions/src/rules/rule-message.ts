// Messages of rules: the text of the definition, or what its expression returns. Source: apiextensions schema/cel evalMessageExpression.
import type { Evaluation } from '@kapstan/cel';

/** Longest text that an expression may return, in bytes. */
const maxMessageBytes = 5 * 1024;

/** The message that a rule carries; undefined when it has none. */
export function messageOf(message: string | undefined): string | undefined {
  return message === undefined || message === '' ? undefined : message.trim();
}

/** The text that an expression returned; undefined when it failed, or the text is none that can be shown. */
export function evaluateMessage({ value, error }: Evaluation): string | undefined {
  if (error !== undefined || typeof value !== 'string') return undefined;
  const text = value.trim();
  const isShowable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= maxMessageBytes;
  return isShowable ? text : undefined;
}
