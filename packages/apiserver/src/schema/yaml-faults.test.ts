// Faults of YAML with the recorded texts of a kube-apiserver 1.36.
import { describe, expect, it } from 'vitest';
import { readYaml } from './yaml-reader.ts';

const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n';
const noKey = 'did not find expected key';
const noToken = 'found character that cannot start any token';

describe('a text that is no YAML', () => {
  it.each([
    ['a: b: c: d', 'mapping values are not allowed in this context'],
    ['x: 1\na: b: c', 'line 2: mapping values are not allowed in this context'],
    ['a\nb: c', 'line 2: mapping values are not allowed in this context'],
    ['\ta: b', noToken],
    ['a:\n\tb: c', `line 2: ${noToken}`],
    ['a: b\n\tc: d\n', 'line 2: found a tab character that violates indentation'],
    ['a:\n    b: 1\n  c: 2', `line 2: ${noKey}`],
    ['a:\n  - b\n c: d', `line 2: ${noKey}`],
    ['- a\nb: c', "line 1: did not find expected '-' indicator"],
    ['a: b\n- c', `line 1: ${noKey}`],
    [`${head}- c`, `line 4: ${noKey}`],
    ['a: [1, 2', "line 1: did not find expected ',' or ']'"],
    ['a: {b: 1\n', "line 1: did not find expected ',' or '}'"],
    ['x: 1\na: [1,\n2\nb: 3', "line 3: did not find expected ',' or ']'"],
    ['a: "x', 'found unexpected end of stream'],
    ['a: "x\n', 'line 2: found unexpected end of stream'],
    ["a: 1\nb: 'x\nc: 2", 'line 3: found unexpected end of stream'],
    ['a: @x', noToken],
    ['b: 1\na: @x', `line 2: ${noToken}`],
    ['%a', 'found unknown directive name'],
    [`${head}%a`, 'line 5: found unknown directive name'],
    ['a: ]', 'did not find expected node content'],
    [`${head}a: ]`, 'line 4: did not find expected node content'],
    [`${head}}`, `line 4: ${noKey}`],
    ['a: [,]', 'did not find expected node content'],
    [': a', noKey],
    [`${head}: a`, `line 4: ${noKey}`],
    ['a: |\n x\ny', "line 4: could not find expected ':'"],
    ['a: 1\nb\n', "line 3: could not find expected ':'"],
    [`${head}{}`, `line 4: ${noKey}`],
    ['a: |x\n', 'did not find expected comment or line break'],
    ['a: "\\z"', 'found unknown escape character'],
    ['a: \u0001', 'control characters are not allowed'],
    ['[a]: x', 'invalid map key: []interface {}{"a"}'],
    ['{a: b}: x', 'invalid map key: map[interface {}]interface {}{"a":"b"}'],
  ])('%j', (text, message) => {
    expect(() => readYaml(text)).toThrow(expect.objectContaining({ message: `yaml: ${message}` }));
  });
});

it.each([
  ['null: x', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "x"'],
  ['~: 5', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: 5'],
  ['data: {null: [1, x]}', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: []interface {}{1, "x"}'],
  ['a: .nan', 'json: unsupported value: NaN'],
  ['a: .inf', 'json: unsupported value: +Inf'],
  ['a: -.inf', 'json: unsupported value: -Inf'],
])('what YAML has and JSON has not is refused: %j', (text, message) => {
  expect(() => readYaml(text)).toThrow(expect.objectContaining({ message }));
});
