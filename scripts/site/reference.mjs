// Makes the API reference of the site with TypeDoc: a page for each symbol that a package exports. It fails for an exported symbol without a
// doc comment.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { Application, Logger, LogLevel, PageEvent, ReflectionKind } from 'typedoc';
import { root } from '../set-up.mjs';
import { stage } from './pages.mjs';

/** Entry points that are only for this repository's own packages, or whose symbols Kubernetes documents. */
const left = new Set(['./internal', './package.json', './*', './facts', './facts/*']);

/** Source of an entry point → its name in a program: "@kapstan/api/errors". */
function entryPoints(names) {
  return new Map(
    names.flatMap((name) => {
      const { exports } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
      return Object.entries(exports).flatMap(([path, target]) => {
        if (left.has(path)) return [];
        return [[join('packages', name, target['@kapstan/source']), `@kapstan/${name}${path.slice(1)}`]];
      });
    }),
  );
}

const documented =
  ReflectionKind.Class |
  ReflectionKind.Interface |
  ReflectionKind.Function |
  ReflectionKind.TypeAlias |
  ReflectionKind.Variable;

function optionsFor(entries) {
  return {
    entryPoints: [...entries.keys()].map((path) => join(root, path)),
    entryPointStrategy: 'resolve',
    tsconfig: join(root, 'tsconfig.check.json'),
    plugin: ['typedoc-plugin-markdown'],
    skipErrorChecking: true,
    basePath: root,
    alwaysCreateEntryPointModule: true,
    readme: 'none',
    name: 'API reference',
    disableSources: true,
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    githubPages: false,
    outputs: [{ name: 'markdown', path: join(stage, 'api') }],
    router: 'member',
    entryFileName: 'index',
    hideBreadcrumbs: true,
    hidePageHeader: true,
    hideGroupHeadings: true,
    useCodeBlocks: true,
    expandObjects: false,
    formatWithPrettier: false,
    parametersFormat: 'list',
    interfacePropertiesFormat: 'list',
    classPropertiesFormat: 'list',
    typeDeclarationFormat: 'list',
    typeAliasPropertiesFormat: 'list',
    enumMembersFormat: 'list',
    validation: { notExported: false, invalidLink: true, rewrittenLink: false, notDocumented: false },
  };
}

/** All packages except the types of built-in kinds, which Kubernetes documents. */
const allPackages = readdirSync(join(root, 'packages'))
  .filter((name) => name !== 'kinds')
  .sort();

/** Collects TypeDoc's complaints instead of printing them. */
class Complaints extends Logger {
  lines = [];

  log(message, level) {
    if (level >= LogLevel.Warn) this.lines.push(stripVTControlCharacters(message));
  }
}

const isDocumented = (symbol) =>
  symbol.hasComment() || (symbol.signatures ?? []).some((signature) => signature.hasComment());

/** Returns the entry of the site's sidebar for an entry point, with its symbols. */
function sidebarOf(module, urls) {
  const linkOf = (symbol) => `/api/${urls.get(symbol).replace(/(index)?\.md$/, '')}`;
  const items = (module.children ?? []).flatMap((symbol) =>
    urls.has(symbol) ? [{ text: symbol.name, link: linkOf(symbol) }] : [],
  );
  return { text: module.name, link: linkOf(module), collapsed: true, items };
}

/** TypeDoc names a module after its file, without the folders that all share. */
function nameOf(path, entries) {
  const [entry] = [...entries.keys()].filter((file) => file.replace(/(\/index)?\.ts$/, '').endsWith(path));
  return entries.get(entry) ?? path;
}

/**
 * Writes the pages of these packages (default: all), unless told not to. Returns the exported symbols without a doc comment, and TypeDoc's
 * complaints.
 */
export async function makeReference({ names = allPackages, writes = true } = {}) {
  const entries = entryPoints(names);
  const app = await Application.bootstrapWithPlugins(optionsFor(entries));
  const complaints = new Complaints();
  app.logger = complaints;
  const project = await app.convert();
  if (project === undefined) throw new Error(`TypeDoc made nothing:\n${complaints.lines.join('\n')}`);
  const modules = project.getChildrenByKind(ReflectionKind.Module);
  for (const module of modules) module.name = nameOf(module.name, entries);
  const undocumented = modules.flatMap((module) =>
    // Test kits are for authors of engines and packages, and their READMEs describe them.
    (module.name.endsWith('/testing') && module.name !== '@kapstan/testing' ? [] : (module.children ?? []))
      .filter((symbol) => symbol.kindOf(documented) && !isDocumented(symbol))
      .map(({ name }) => `${module.name}: ${name} has no doc comment`),
  );
  app.validate(project);
  if (writes) {
    const urls = new Map();
    app.renderer.on(PageEvent.END, (page) => urls.set(page.model, page.url));
    await app.generateOutputs(project);
    writeFileSync(join(stage, 'api/symbols.json'), JSON.stringify(modules.map((module) => sidebarOf(module, urls))));
  }
  return { undocumented, complaints: complaints.lines };
}
