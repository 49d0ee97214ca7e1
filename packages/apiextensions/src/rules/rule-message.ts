// Messages of rules: the text in the definition, or the result of its expression. Source: apiextensions schema/cel
// evalMessageExpression.
import type { Evaluation } from '@kapstan/cel';

/** Longest text that an expression may return, in bytes. */
const maxMessageBytes = 5 * 1024;

/** Returns the message of a rule; undefined when it has none. */
export function messageOf(message: string | undefined): string | undefined {
  return message === undefined || message === '' ? undefined : message.trim();
}

/** Returns the text from an expression; undefined when it failed, or its text cannot be shown. */
export function evaluateMessage({ value, error }: Evaluation): string | undefined {
  if (error !== undefined || typeof value !== 'string') return undefined;
  const text = value.trim();
  const isShowable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= maxMessageBytes;
  return isShowable ? text : undefined;
}
