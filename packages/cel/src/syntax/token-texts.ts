// Formats kinds of tokens and pieces of the input for messages about syntax.
import type { Token, TokenKind } from './token.ts';

/** Names in the order in which messages list them. */
const names: ReadonlyMap<TokenKind, string> = new Map<TokenKind, string>([
  ['end', '<EOF>'],
  ...(
    [
      '==',
      '!=',
      'in',
      '<',
      '<=',
      '>=',
      '>',
      '&&',
      '||',
      '[',
      ']',
      '{',
      '}',
      '(',
      ')',
      '.',
      ',',
      '-',
      '!',
      '?',
      ':',
      '+',
      '*',
      '/',
      '%',
      'true',
      'false',
      'null',
    ] as const
  ).map((kind) => [kind, `'${kind}'`] as const),
  ['double', 'NUM_FLOAT'],
  ['int', 'NUM_INT'],
  ['uint', 'NUM_UINT'],
  ['string', 'STRING'],
  ['bytes', 'BYTES'],
  ['identifier', 'IDENTIFIER'],
  ['escapedIdentifier', 'ESC_IDENTIFIER'],
]);

/** Returns `'x'` for one kind and `{'x', 'y'}` for several. */
export function expectedText(kinds: ReadonlySet<TokenKind>): string {
  const shown = [...names].filter(([kind]) => kinds.has(kind)).map(([, name]) => name);
  return shown.length === 1 ? (shown[0] as string) : `{${shown.join(', ')}}`;
}

/** Returns the input from one token to another, without characters that belong to no token. */
export function textBetween(
  text: string,
  tokens: readonly Token[],
  { from, to }: { readonly from: Token; readonly to: Token },
): string {
  let result = '';
  let at = from.offset;
  for (let i = tokens.indexOf(from); i < tokens.length; i++) {
    const token = tokens[i] as Token;
    // A lone operator character is refused together with the character after it, even if that is a blank.
    const gap = text
      .slice(at, token.offset)
      .replace(/\/\/[^\n]*|[=&|][\s\S]/g, (part) => (part.startsWith('//') ? part : ''));
    result += (gap.match(/[\t \r\n\f]+|\/\/[^\n]*/g) ?? []).join('');
    result += token.text;
    at = token.offset + token.text.length;
    if (token === to) break;
  }
  return result;
}
