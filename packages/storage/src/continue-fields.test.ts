import { describe, expect, it } from 'vitest';
import { readContinueFields } from './continue-fields.ts';
import { decodeContinue } from './continue-token.ts';

const prefix = '/registry/pods/';
const read = (text: string): unknown => readContinueFields(Buffer.from(text));
const answer = (text: string): string => {
  try {
    const { revision, asked, fromKey } = decodeContinue(Buffer.from(text).toString('base64url'), prefix);
    return `${revision} ${asked} ${fromKey}`;
  } catch (error) {
    return (error as Error).message.replace(/^invalid continue token: continue key is not valid: /, '');
  }
};

describe('the fields of a continue token', () => {
  it.each([
    ['{"V":"a","RV":2,"Start":"b"}', { v: 'a', rv: '2', start: 'b' }],
    ['{"\u017ftart":"b","ﬆart":"c"}', { v: '', rv: '0', start: 'b' }],
    ['{"v":"a","v":"b","V":"c"}', { v: 'c', rv: '0', start: '' }],
    ['{"v":"a","v":null,"x":[1]}', { v: 'a', rv: '0', start: '' }],
    ['{"rv":9223372036854775807}', { v: '', rv: '9223372036854775807', start: '' }],
    ['{"rv":-9223372036854775808}', { v: '', rv: '-9223372036854775808', start: '' }],
    ['null', { v: '', rv: '0', start: '' }],
  ])('are read as Go reads them: %s', (text, fields) => {
    expect(read(text)).toEqual(fields);
  });

  // Recorded from a kube-apiserver 1.36.3, except for the words before "server" and "json".
  it.each([
    ['{"v":"v2","rv":1,"start":"a"}', 'server does not recognize this encoded version v2'],
    ['null', 'server does not recognize this encoded version '],
    ['{}', 'server does not recognize this encoded version '],
    ['[1]', 'json: cannot unmarshal array into Go value of type storage.continueToken'],
    ['1', 'json: cannot unmarshal number into Go value of type storage.continueToken'],
    ['"x"', 'json: cannot unmarshal string into Go value of type storage.continueToken'],
    ['true', 'json: cannot unmarshal bool into Go value of type storage.continueToken'],
    [
      '{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"a"}',
      '9007199254740991 9223372036854775807 /registry/pods/a',
    ],
    ['{"V":"meta.k8s.io/v1","RV":-1,"Start":"a"}', '0 -1 /registry/pods/a'],
    [
      '{"v":"meta.k8s.io/v1","rv":9223372036854775808,"start":"a"}',
      'json: cannot unmarshal number 9223372036854775808 into Go struct field continueToken.rv of type int64',
    ],
    ['{"rv":"5"}', 'json: cannot unmarshal string into Go struct field continueToken.rv of type int64'],
    ['{"rv":5.5}', 'json: cannot unmarshal number 5.5 into Go struct field continueToken.rv of type int64'],
    ['{"rv":1e3}', 'json: cannot unmarshal number 1e3 into Go struct field continueToken.rv of type int64'],
    ['{"rv":-1.0}', 'json: cannot unmarshal number -1.0 into Go struct field continueToken.rv of type int64'],
    ['{"rv":{}}', 'json: cannot unmarshal object into Go struct field continueToken.rv of type int64'],
    ['{"rv":[]}', 'json: cannot unmarshal array into Go struct field continueToken.rv of type int64'],
    ['{"start":7}', 'json: cannot unmarshal number into Go struct field continueToken.start of type string'],
    ['{"start":true}', 'json: cannot unmarshal bool into Go struct field continueToken.start of type string'],
    ['{"v":7,"rv":"a","start":8}', 'json: cannot unmarshal number into Go struct field continueToken.v of type string'],
    ['{"rv":"5","rv":-1}', 'json: cannot unmarshal string into Go struct field continueToken.rv of type int64'],
    ['{"v":"meta.k8s.io/v1","rv":-0,"start":"a"}', 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
    ['{"v":"meta.k8s.io/v1","rv":null}', 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
    ['{"v":"meta.k8s.io/v1","rv":-1,"start":null}', 'encoded start key empty (version meta.k8s.io/v1)'],
    ['{"v":"meta.k8s.io/v1"} x', "invalid character 'x' after top-level value"],
  ])('are refused in the words of Go: %s', (text, expected) => {
    expect(answer(text)).toBe(expected);
  });
});
