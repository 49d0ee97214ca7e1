// Writes Kubernetes' descriptions of its types and query parameters: packages/kinds/dist/descriptions.json (all), column-descriptions.json
// next to it (for columns in Tables), and packages/apiserver/dist/meta-descriptions.json (for every API server). The types are described by
// kubernetes-models (kubernetes-models.mjs). What it lacks, which is apiVersion, kind, beta types that are off by default and query parameters,
// is taken from the declarations of @kubernetes/client-node 2, which is installed as client-node-2 only for this. It runs on Node 22 and
// later, but its declarations can be read on any version. This script is part of the build, and its output is not in the repository. Without
// the dependencies the server's documents have fewer descriptions.
//   node packages/kinds/scripts/write-descriptions.mjs [kinds|apiserver]
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { modelDescriptions } from './kubernetes-models.mjs';

const facts = (name) => JSON.parse(readFileSync(new URL(`../facts/${name}.json`, import.meta.url), 'utf8'));
const isMeta = (name) => /^(meta\/|machinery\/|apidiscovery\.|autoscaling\.v1\.Scale)/.test(name);

/** Undefined when the dependency is not installed. */
function declarationsFolder() {
  try {
    const entry = createRequire(import.meta.url).resolve('client-node-2');
    return join(dirname(entry), 'gen');
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** The declarations have spaces in place of line ends. Two of them before these words mostly end a paragraph. */
const openers =
  /(?<=\S) {2}(?=(?:The|A|Must|Populated|References|Exactly|Required\.|Deprecated:|More|Requests|Most|In|\*) )/g;

/** Returns the text of a comment without its stars and the escapes that the generator of the declarations writes. */
function textOf(comment) {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  return lines
    .join('\n')
    .trim()
    .replaceAll('*_/', '*/')
    .replaceAll(/\\(["'\\])/g, '$1')
    .replaceAll(openers, '\n\n');
}

/** The declarations have this text for every member of the type IntOrString, instead of the purpose of the member. */
const saysItsType = (text) => text.startsWith('IntOrString is a type that');

/** Returns the names in JSON by the names in TypeScript, where they differ. */
function jsonNames(program) {
  const pairs = program.matchAll(/"name": "([^"]+)",\s+"baseName": "([^"]+)"/g);
  return new Map([...pairs].map(([, name, baseName]) => [name, baseName]));
}

/** Returns the declarations of one class: the text of the type, and the texts of its members. */
function readModel(folder, name) {
  const declared = readFileSync(join(folder, 'models', `${name}.d.ts`), 'utf8');
  const at = declared.indexOf('export declare class');
  const end = declared.indexOf('static readonly discriminator');
  const own = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(declared.slice(0, at));
  const isOfFile = own?.index === 0;
  const names = jsonNames(readFileSync(join(folder, 'models', `${name}.js`), 'utf8'));
  const members = {};
  const all = declared.slice(at, end).matchAll(/(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?'([^']+)'\??:/g);
  for (const [, comment, member] of all) {
    members[names.get(member) ?? member] = comment === undefined ? '' : textOf(comment);
  }
  return { text: own === null || isOfFile ? '' : textOf(own[1]), members };
}

const capital = (text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** Names that the class of a definition may have: its version and kind, with the group in front if several groups share them. */
function classNames(definition) {
  const [path, version, kind] = definition.split('.').slice(-3);
  const group = path.slice(path.lastIndexOf('/') + 1);
  const own = version === undefined || kind === undefined ? [] : [`${capital(version)}${kind}`];
  const meta = /^meta\/(v\w+)\.(\w+)$/.exec(definition);
  if (meta !== null) return [`${capital(meta[1])}${meta[2]}`];
  return [...own.map((name) => `${capital(group)}${name}`), ...own];
}

/** Returns the texts of a definition in client-node; undefined when it has no class of that name with these members. */
function readClass(folder, known, definition, properties) {
  const name = classNames(definition).find((one) => known.has(one));
  if (name === undefined) return undefined;
  const { text, members } = readModel(folder, name);
  // A type of another group may have the name; it has other members.
  const names = Object.keys(properties);
  const shared = names.filter((member) => Object.hasOwn(members, member));
  if (shared.length * 2 < names.length) return undefined;
  const said = shared.filter((member) => members[member] !== '' && !saysItsType(members[member]));
  return { description: text, properties: Object.fromEntries(said.map((member) => [member, members[member]])) };
}

const only = (texts, members) =>
  Object.fromEntries(Object.entries(texts).filter(([member]) => members.includes(member)));

/** Joins both sources. The models omit apiVersion and kind, and describe every other member that Kubernetes describes. */
function joined(declared, model, members) {
  if (model === undefined) return declared;
  const rest = model.isOwn ? ['apiVersion', 'kind'] : members;
  const description = (model.isOwn && model.description) || declared.description || model.description;
  return { description, properties: { ...only(declared.properties, rest), ...only(model.properties, members) } };
}

/** Kubernetes describes custom resources and their lists with these texts, which pods have, too. */
function describeAny(definitions) {
  const [pod, list] = ['core.v1.Pod', 'core.v1.PodList'].map((name) => definitions[name]?.properties ?? {});
  const items = list.items?.replace('List of pods', 'List of {resource}');
  definitions['meta/v1.PartialObjectMetadata'] = { properties: only(pod, ['metadata']) };
  definitions['meta/v1.PartialObjectMetadataList'] = { properties: { ...list, items } };
}

function readDescriptions(folder, modelOf) {
  const classes = folder === undefined ? [] : readdirSync(join(folder, 'models'));
  const known = new Set(classes.filter((file) => file.endsWith('.d.ts')).map((file) => file.slice(0, -5)));
  const found = {};
  for (const [definition, { properties = {} }] of Object.entries(facts('schemas').definitions)) {
    const declared = readClass(folder, known, definition, properties) ?? { description: '', properties: {} };
    const { description, properties: texts } = joined(declared, modelOf?.(definition), Object.keys(properties));
    if (description === '' && Object.keys(texts).length === 0) continue;
    found[definition] = { ...(description === '' ? {} : { description }), properties: texts };
  }
  describeAny(found);
  return found;
}

const entities = { quot: '"', '#39': "'", '#x60': '`', '#x3D': '=', lt: '<', gt: '>', amp: '&' };
const plain = (text) => text.replaceAll(/\\?&(quot|#39|#x60|#x3D|lt|gt|amp);/g, (_, name) => entities[name]);

/** Texts about a parameter in the operations: text → number of operations with it. */
class Sayings {
  #counts = new Map();

  note(name, text) {
    const texts = this.#counts.get(name) ?? new Map();
    texts.set(text, (texts.get(text) ?? 0) + 1);
    this.#counts.set(name, texts);
  }

  /** Returns the most frequent text of each parameter. */
  mostSaid() {
    const most = (texts) => [...texts].sort(([, a], [, b]) => b - a)[0][0];
    return Object.fromEntries([...this.#counts].map(([name, texts]) => [name, most(texts)]));
  }
}

/** Returns the query parameters, from the comments of the operations. Patches describe some of them differently. */
function readParameters(folder) {
  const [all, patches] = [new Sayings(), new Sayings()];
  for (const file of ['CoreV1Api.d.ts', 'AppsV1Api.d.ts', 'PolicyV1Api.d.ts']) {
    const declared = readFileSync(join(folder, 'apis', file), 'utf8');
    for (const [, comment, operation] of declared.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(\w+)\(/g)) {
      for (const part of textOf(comment).split(/^@(?=param )/m)) {
        const match = /^param (\w+) ([\s\S]+)$/.exec(part);
        if (match === null || match[1] === 'body') continue;
        const says = operation.startsWith('patch') ? patches : all;
        says.note(match[1].replace(/^_/, ''), plain(match[2].trim()));
      }
    }
  }
  const [common, ofPatches] = [all.mostSaid(), patches.mostSaid()];
  const others = Object.entries(ofPatches).filter(([name, text]) => common[name] !== text && name !== 'name');
  return { parameters: { ...ofPatches, ...common }, patchParameters: Object.fromEntries(others) };
}

/** Returns texts by resource and column, for columns that have the description of a type's member. */
function describeColumns(definitions) {
  const textOf = (member) => {
    const cut = member.lastIndexOf('.');
    const text = definitions[member.slice(0, cut)]?.properties[member.slice(cut + 1)];
    // Documents list the values of an enumeration; columns do not.
    return text?.replace(/\n\nPossible enum values:[\s\S]*$/, '');
  };
  const described = Object.entries(facts('columndescriptions').resources).map(([id, columns]) => {
    const texts = Object.entries(columns).map(([name, member]) => [name, textOf(member)]);
    return [id, Object.fromEntries(texts.filter(([, text]) => text !== undefined))];
  });
  return Object.fromEntries(described);
}

function write(packageName, file, content) {
  const folder = fileURLToPath(new URL(`../../${packageName}/dist/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), `${JSON.stringify(content)}\n`);
}

const folder = declarationsFolder();
const modelOf = modelDescriptions();
if (folder === undefined)
  console.log('client-node-2 is not installed: parameters and beta types go without descriptions');
if (modelOf === undefined)
  console.log('kubernetes-models is not installed: members of other types go without descriptions');
const [wanted] = process.argv.slice(2);
const definitions = readDescriptions(folder, modelOf);
const said = folder === undefined ? { parameters: {}, patchParameters: {} } : readParameters(folder);
const meta = Object.fromEntries(Object.entries(definitions).filter(([name]) => isMeta(name)));
if (wanted !== 'apiserver') {
  write('kinds', 'descriptions.json', { definitions });
  write('kinds', 'column-descriptions.json', { resources: describeColumns(definitions) });
}
if (wanted !== 'kinds') write('apiserver', 'meta-descriptions.json', { definitions: meta, ...said });
