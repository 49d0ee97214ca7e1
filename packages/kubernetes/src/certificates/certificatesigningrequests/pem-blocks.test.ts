import { expect, it } from 'vitest';
import { pemBlocks } from './pem-blocks.ts';

// Expected are the results of Decode of Go 1.26's encoding/pem for the same bytes, called until it found nothing. "+" =
// has headers.
it.each<[what: string, text: string, found: string]>([
  ['two blocks', '-----BEGIN A-----\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'A=a B=b'],
  [
    'text before, between and after',
    'hello\n-----BEGIN A-----\nYQ==\n-----END A-----\nbetween\n-----BEGIN B-----\nYg==\n-----END B-----\nafter',
    'A=a B=b',
  ],
  [
    'a beginning that is not at the start of a line',
    'x -----BEGIN A-----\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'a beginning after a blank',
    ' -----BEGIN A-----\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'a beginning after what ends no line',
    '-----BEGIN A-----\nYQ==\n-----END A----- -----BEGIN B-----\nYg==\n-----END B-----\n',
    '',
  ],
  [
    'an end that is not at the start of a line',
    '-----BEGIN A-----\nYQ==\n -----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'an end on the line of the content',
    '-----BEGIN A-----\nYQ==-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'one letter too many',
    '-----BEGIN A-----\nYQ==Y\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  ['five letters', '-----BEGIN A-----\nYWFhY\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'B=b'],
  ['padding left out', '-----BEGIN A-----\nYQ\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'B=b'],
  ['padding too short', '-----BEGIN A-----\nYQ=\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'B=b'],
  ['padding too long', '-----BEGIN A-----\nYWE==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'B=b'],
  ['padding alone', '-----BEGIN A-----\n====\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'B=b'],
  [
    'padding in the middle',
    '-----BEGIN A-----\nYQ==\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'padding on the next line',
    '-----BEGIN A-----\nYQ\n=\n=\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A=a B=b',
  ],
  [
    'trailing bits that are not zero',
    '-----BEGIN A-----\nYR==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A=a B=b',
  ],
  ['what is no base64', '-----BEGIN A-----\n!\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'B=b'],
  ['letters of URLs', '-----BEGIN A-----\n-_-_\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'B=b'],
  [
    'blanks and tabs in the content',
    '-----BEGIN A-----\n Y\tQ = =\t\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A=a B=b',
  ],
  [
    'a form feed in the content',
    '-----BEGIN A-----\nYQ\f==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'carriage returns',
    '-----BEGIN A-----\r\nYQ==\r\n-----END A-----\r\n-----BEGIN B-----\r\nY\rg==\r\n-----END B-----\r\n',
    'A=a B=b',
  ],
  [
    'junk after the end',
    '-----BEGIN A-----\nYQ==\n-----END A-----junk\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'a sixth dash after the end',
    '-----BEGIN A-----\nYQ==\n-----END A------\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'blanks after the end',
    '-----BEGIN A-----\nYQ==\n-----END A----- \t\r\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A=a B=b',
  ],
  [
    'a form feed after the end',
    '-----BEGIN A-----\nYQ==\n-----END A-----\f\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  ["no line's end after the end", '-----BEGIN A-----\nYQ==\n-----END A-----', 'A=a'],
  ["a carriage return and no line's end after the end", '-----BEGIN A-----\nYQ==\n-----END A-----\r', ''],
  [
    'junk after the beginning',
    '-----BEGIN A-----x\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'blanks after the beginning',
    '-----BEGIN A----- \t\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A=a B=b',
  ],
  [
    'a form feed after the beginning',
    '-----BEGIN A-----\f\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    "four dashes at the beginning's end",
    '-----BEGIN A----\nYQ==\n-----END A----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'an end of another type',
    '-----BEGIN A-----\nYQ==\n-----END B-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'an end of a longer type',
    '-----BEGIN A-----\nYQ==\n-----END AB-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'a beginning within a block',
    '-----BEGIN A-----\nYQ==\n-----BEGIN B-----\nYg==\n-----END B-----\n-----BEGIN A-----\nYQ==\n-----END A-----\n',
    'B=b A=a',
  ],
  [
    'a beginning on the line of another',
    '-----BEGIN A----------BEGIN B-----\nYg==\n-----END B-----\n-----BEGIN A-----\nYQ==\n-----END A-----\n',
    'A=a',
  ],
  [
    'an end before the first beginning',
    '-----END A-----\n-----BEGIN A-----\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A=a B=b',
  ],
  [
    'two ends',
    '-----BEGIN A-----\nYQ==\n-----END A-----\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A=a B=b',
  ],
  [
    'a beginning on the line of an end',
    '-----BEGIN A-----\nYQ==\n-----END A----------BEGIN B-----\nYg==\n-----END B-----\n-----BEGIN C-----\nYw==\n-----END C-----\n',
    'C=c',
  ],
  [
    "a beginning right after a failed end's name",
    '\n-----END -----BEGIN A-----\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A=a B=b',
  ],
  ['an empty block', '-----BEGIN A-----\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n', 'A= B=b'],
  [
    'a block of an empty line',
    '-----BEGIN A-----\n\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A= B=b',
  ],
  [
    'a block of no type',
    '-----BEGIN -----\nYQ==\n-----END -----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    '=a B=b',
  ],
  [
    'headers',
    '-----BEGIN A-----\nk: v\nl:\n\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A+=a B=b',
  ],
  [
    'headers without an empty line',
    '-----BEGIN A-----\nk: v\nYQ==\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A+=a B=b',
  ],
  [
    'headers after the content',
    '-----BEGIN A-----\nYQ==\nk: v\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'headers and no content',
    '-----BEGIN A-----\nk: v\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'B=b',
  ],
  [
    'headers, an empty line and no content',
    '-----BEGIN A-----\nk: v\n\n-----END A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A+= B=b',
  ],
  [
    'a colon in the type',
    '-----BEGIN A:-----\nYQ==\n-----END A:-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    'A:=a B=b',
  ],
  [
    'headers up to an end with a colon',
    '-----BEGIN A:-----\nk: v\n-----END A:-----\n-----BEGIN B-----\nYg==\n-----END B-----\n',
    '',
  ],
  ['no block', '-----BEGIN A-----\nYQ==\n', ''],
  [
    'an upper half of Latin-1',
    '-----BEGIN é-----\nYQ==\n-----END é-----\n-----BEGIN B-----\nY\u00a0g==\n-----END B-----\n',
    'é=a',
  ],
  ['nothing', '', ''],
])('the blocks of a PEM text are those that Go finds: %s', (_what, text, found) => {
  const blocks = pemBlocks(text).map(
    ({ type, hasHeaders, der }) => `${type}${hasHeaders ? '+' : ''}=${der.toString('latin1')}`,
  );
  expect(blocks.join(' ')).toBe(found);
});
