// Tests which answers of webhooks are read, and the errors for others, as recorded from a kube-apiserver 1.36.
import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { readReviewDocument } from './review-document.ts';

const kind = { group: 'g.example.com', version: 'v1', kind: 'Review' };
const named = 'kind: Review\napiVersion: g.example.com/v1\n';
const json = '{"kind":"Review","apiVersion":"g.example.com/v1","response":{"uid":"u"}}';

function outcome(body: string): unknown {
  const answer = { body: Buffer.from(body), code: 200, contentType: 'application/json' };
  try {
    return runWhole(readReviewDocument(answer, kind)).value;
  } catch (error) {
    return (error as Error).message;
  }
}

const unmarshalled = (what: string): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${what} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;

describe('the review that a webhook answers', () => {
  it.each([
    ['JSON', json],
    ['JSON after blanks', `\n\t ${json}`],
    ['JSON after a byte order mark', `\ufeff${json}`],
    ['YAML, whatever its type says', `${named}response:\n  uid: u\n`],
    ['YAML after a comment', `# hi\n${named}response: {uid: u}\n`],
    ['the first of several documents', `---\n${named}response: {uid: u}\n---\na: 1\n`],
    ['YAML with repeated members, of which the last counts', `${named}response: {uid: x}\nresponse: {uid: u}\n`],
  ])('may be %s', (_what, body) => {
    expect(outcome(body)).toEqual(JSON.parse(json));
  });

  it.each([
    ['null', null],
    ['---\n', null],
    ['  \n', null],
    ['1: 2\n', { '1': 2 }],
    ['response: {uid: a}', { response: { uid: 'a' } }],
  ])('need not name its kind: %j', (body, value) => {
    expect(outcome(body)).toEqual(value);
  });

  it.each([
    ['', '0-length response with status code: 200 and content type: application/json'],
    ['hello', unmarshalled('string')],
    ['<html><body>hi</body></html>', unmarshalled('string')],
    ['[]', unmarshalled('array')],
    ['- a\n', unmarshalled('array')],
    ['12', unmarshalled('number')],
    ['true', unmarshalled('bool')],
    [
      'kind: 1\n',
      "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
    ],
    ['a: b: c\n', 'yaml: mapping values are not allowed in this context'],
    ['a:\n\t- b', 'yaml: line 2: found character that cannot start any token'],
    ['a: &x 1\nb: *y\n', "yaml: unknown anchor 'y' referenced"],
    [`${json} x`, "couldn't get version/kind; json parse error: invalid character 'x' after top-level value"],
    [
      'kind: Foo\napiVersion: v1\n',
      'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    ['{"kind":"Status","apiVersion":"v1"}', 'converting (v1.Status) to (v1.Review): unknown conversion'],
    ['{"apiVersion":"g.example.com/v1beta1"}', 'converting (v1beta1.Review) to (v1.Review): unknown conversion'],
  ])('is not %j', (body, message) => {
    expect(outcome(body)).toBe(message);
  });

  it('may not be long YAML, which is read in one turn', () => {
    const long = 'yaml: the text is too long; answer with JSON';
    expect(outcome(`${named}a: ${'x'.repeat(64 * 1024)}`)).toBe(long);
    expect(outcome(`${named}a: [${'1,'.repeat(4_000)}]`)).toBe(long);
    expect(outcome(`${named}a: [${'1,'.repeat(500)}]`)).toMatchObject({ kind: 'Review' });
  });
});
