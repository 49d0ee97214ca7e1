// Checks that the generic API server names no kind of Kubernetes: no literal in its sources is the name of a built-in kind, resource or
// group, except for the exceptions in architecture/layers.json, each with its reason.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

interface Discovery {
  readonly groups: Readonly<Record<string, unknown>>;
  readonly resources: Readonly<Record<string, { readonly kind: string }>>;
}

interface Exception {
  readonly file: string;
  readonly words: readonly string[];
  readonly reason: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = <T>(path: string): T => JSON.parse(readFileSync(join(root, path), 'utf8')) as T;
const { exceptions } = read<{ readonly kindNames: { readonly exceptions: readonly Exception[] } }>(
  'architecture/layers.json',
).kindNames;
const discovery = read<Discovery>('packages/kinds/facts/discovery.json');
const groups = new Set(Object.keys(discovery.groups).filter((group) => group !== ''));
const kinds = new Set(Object.values(discovery.resources).flatMap(({ kind }) => [kind, `${kind}List`]));
const resources = new Set(Object.keys(discovery.resources).map((id) => id.slice(id.lastIndexOf('/') + 1)));

/**
 * Finds words of a literal that are names of Kubernetes' API. A text with blanks is prose, in which only names that are not ordinary words
 * count.
 */
function namesIn(text: string, isGroup: boolean): readonly string[] {
  if (/\s/.test(text)) return text.split(/[^\w.]+/).filter((word) => kinds.has(word) && /[a-z][A-Z]/.test(word));
  if (groups.has(text)) return isGroup || text.includes('.') ? [text] : [];
  const parts = text.split(/[/:]/);
  // A group of one word, such as "apps", counts only before a version.
  const ofGroups = parts.slice(0, -1).filter((part) => groups.has(part) && part.includes('.'));
  const [first = '', second = ''] = text.split(/\/|\.(?=v\d)/);
  const ofVersion = groups.has(first) && !ofGroups.includes(first) && /^v\d/.test(second) ? [first] : [];
  return [...ofGroups, ...ofVersion, ...text.split(/[/.:]/).filter((part) => kinds.has(part) || resources.has(part))];
}

/** Finds names in the words of a pattern. */
function namesInPattern(text: string): readonly string[] {
  const words = text.split(/(?:\\[a-zA-Z])|[^\w.-]+/);
  return words.filter((word) => kinds.has(word) || resources.has(word) || (groups.has(word) && word.includes('.')));
}

function isLiteral(node: ts.Node): node is ts.LiteralLikeNode {
  return ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
}

function namesOf(node: ts.Node): readonly string[] {
  if (ts.isRegularExpressionLiteral(node)) return namesInPattern(node.text);
  return isLiteral(node) ? namesIn(node.text, isNameOfGroup(node)) : [];
}

function isNameOfGroup({ parent }: ts.Node): boolean {
  return ts.isPropertyAssignment(parent) && parent.name.getText() === 'group';
}

/** "line: name" of each literal. */
function found(file: string): readonly { readonly line: number; readonly name: string }[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const hits: { line: number; name: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    for (const name of namesOf(node)) {
      hits.push({ line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, name });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return hits;
}

function violations(folder: string): readonly string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/\.test\.ts$|^testing\//.test(file),
  );
  return files.sort().flatMap((file) => {
    const allowed = exceptions.find((exception) => exception.file === file)?.words ?? [];
    const named = found(join(root, folder, file)).filter(({ name }) => !allowed.includes(name));
    return named.map(({ line, name }) => `${file}:${line} ${name}`);
  });
}

describe('the generic API server', () => {
  it('names no built-in kind, resource or group', () => {
    expect(violations('packages/apiserver/src')).toEqual([]);
  });

  it('has at most seven exceptions, each with its reason, and none for nothing', () => {
    expect(exceptions.length).toBeLessThanOrEqual(7);
    for (const { file, words, reason } of exceptions) {
      expect(reason.length).toBeGreaterThan(20);
      const names = found(join(root, 'packages/apiserver/src', file)).map(({ name }) => name);
      for (const word of words) expect(names, file).toContain(word);
    }
  });
});

it('finds a name in a literal, a path, an identifier, a text, a group of users, a key, a pattern and a template', () => {
  expect(violations('test/lint-fixtures/kind-names')).toEqual([
    'names.ts:1 pods',
    'names.ts:2 apps',
    'names.ts:2 deployments',
    'names.ts:3 rbac.authorization.k8s.io',
    'names.ts:4 Secret',
    'names.ts:5 ConfigMap',
    'names.ts:6 apps',
    'names.ts:7 serviceaccounts',
    'names.ts:8 authorization.k8s.io',
    'names.ts:9 nodes',
    'names.ts:9 pods',
    'names.ts:10 leases',
  ]);
});
