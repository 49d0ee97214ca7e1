// Hooks of source.mjs: resolve @kapstan/* to their sources, compiled down to a syntax that the oldest supported Node
// reads, because `using` is newer.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };

export function resolve(specifier, context, next) {
  return next(specifier, { ...context, conditions: ['@kapstan/source', ...context.conditions] });
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const text = await readFile(fileURLToPath(url), 'utf8');
  const { outputText } = ts.transpileModule(text, { compilerOptions });
  return { format: 'module', source: outputText, shortCircuit: true };
}
