// The conditional spreads of each package, in every spelling: `...(x === undefined ? {} : { x })`, `...(x && { x })`, `...(x === '' ? {} : more)`.
// Options are declared as `x?: T | undefined` and take `x` unchanged. The remaining spreads are needed where the absence of a member matters:
// - objects that are sent, stored, signed or published: kinds, Status, audit events, managedFields, OpenAPI, attributes of spans;
// - options that are spread over defaults, where `undefined` would replace the default: openLmdbEngine, openEtcdEngine,
//   builtinResources, fast-check;
// - implementations of a port with optional methods, which a caller looks for: AdmissionPlugin, ResourceStrategy, ListerWatcher;
// - objects that Node, undici or a test compares by their members: headers, TLS options, preconditions, names of objects.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Maximum number for each package; packages that are not listed have none. */
const most: Readonly<Record<string, number>> = {
  api: 16,
  apiextensions: 21,
  apiserver: 109,
  cacher: 1,
  client: 46,
  'control-plane': 31,
  controller: 12,
  informers: 8,
  kubernetes: 38,
  'storage-etcd': 1,
  storage: 8,
};

function isEmptyObject(node: ts.Expression): boolean {
  return ts.isObjectLiteralExpression(node) && node.properties.length === 0;
}

function withoutParentheses(node: ts.Expression): ts.Expression {
  return ts.isParenthesizedExpression(node) || ts.isAsExpression(node) ? withoutParentheses(node.expression) : node;
}

/** Returns whether the members of the expression depend on a condition. */
function isConditional(expression: ts.Expression): boolean {
  const node = withoutParentheses(expression);
  if (ts.isBinaryExpression(node)) return node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
  if (!ts.isConditionalExpression(node)) return false;
  return [node.whenTrue, node.whenFalse].map(withoutParentheses).some(isEmptyObject);
}

/** Returns the lines of the conditional spreads. */
function spreadsIn(text: string): readonly number[] {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const lines: number[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isSpreadAssignment(node) && isConditional(node.expression))
      lines.push(source.getLineAndCharacterOfPosition(node.getStart()).line + 1);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return lines;
}

it('no package writes more conditional spreads than it has', () => {
  const files = execFileSync('git', ['ls-files', 'packages/*/src/**.ts'], { cwd: root, encoding: 'utf8' });
  const counts = new Map<string, number>();
  for (const file of files.split('\n').filter((name) => name !== '' && !name.endsWith('.test.ts'))) {
    const [, name = ''] = file.split('/');
    counts.set(name, (counts.get(name) ?? 0) + spreadsIn(readFileSync(join(root, file), 'utf8')).length);
  }
  expect([...counts].filter(([name, count]) => count > (most[name] ?? 0))).toEqual([]);
});

it('sees every spelling', () => {
  const written = [
    'x === undefined ? {} : { x }',
    'x !== undefined && { x }',
    'x && { x }',
    "x === '' ? {} : { x }",
    'list.length > 0 ? more : {}',
    '(isSet(x) && (y ?? z)) && { x }',
  ];
  for (const condition of written) expect(spreadsIn(`f({ a, ...(${condition}) });`), condition).toEqual([1]);
  expect(spreadsIn('f({ ...(a ?? b), ...rest, ...(x ? { x } : { y }) }); g([...(x ? [] : [x])]);')).toEqual([]);
});
