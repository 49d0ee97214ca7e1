// Reads Kubernetes' descriptions of the types that a server with stock settings publishes, from the declarations of kubernetes-models and
// @kubernetes-models/apimachinery. They are the only declarations on npm that describe members which refer to another type.
// write-descriptions.mjs uses it. The packages run on Node 22 and later, but can be read on any version.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Undefined when the package is not installed. */
function folderOf(name) {
  try {
    return dirname(fileURLToPath(import.meta.resolve(name)));
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Returns the text of a comment without its stars, the escapes that the generator writes, and the tag that it adds. */
function textOf(comment = '') {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  return lines
    .join('\n')
    .trim()
    .replaceAll(/\\([*/])/g, '$1')
    .replace(/\n@deprecated$/, '');
}

const comment = String.raw`(?:/\*\*((?:(?!\*/)[\s\S])*)\*/\s*)?`;
const memberPattern = new RegExp(`^    ${comment}"([^"]+)"\\??:`, 'gm');

/** Returns the path of a definition's declarations below the folder of its package: "apps/v1/Deployment". */
function pathIn(folder, definition) {
  const [group, version, kind] = definition.replace(/^(crd|aggregator)\//, '').split('.');
  if (group === 'core') return join(version, kind);
  const ofGroup = readdirSync(folder).find((one) => one.split('.')[0] === group);
  return join(ofGroup ?? group, version, kind);
}

/** Returns the texts of a kind in a file of declarations. */
function readKind(file, kind) {
  const declared = readFileSync(file, 'utf8');
  const pattern = new RegExp(`${comment}export (?:interface|type) I${kind}\\b([\\s\\S]*?)^(?:\\}|export)`, 'm');
  const [, text, body = ''] = pattern.exec(declared) ?? [];
  const members = [...body.matchAll(memberPattern)].map(([, said, member]) => [member, textOf(said)]);
  return { description: textOf(text), properties: Object.fromEntries(members.filter(([, said]) => said !== '')) };
}

/**
 * Returns a function that finds the texts of a definition, "apps.v1.Deployment" or "meta/v1.ObjectMeta", with `isOwn`: false when they are those
 * of v1, as for versions that are off by default. Returns undefined when the packages are not installed.
 */
export function modelDescriptions() {
  const [models, machinery] = ['kubernetes-models', '@kubernetes-models/apimachinery'].map(folderOf);
  if (models === undefined || machinery === undefined) return undefined;
  const fileOf = (definition) => {
    const [, ofMachinery] = /^machinery\/(.+)$/.exec(definition.replace(/^meta\//, 'machinery/apis.meta.')) ?? [];
    if (ofMachinery !== undefined) return `${join(machinery, ...ofMachinery.split('.'))}.d.ts`;
    return `${join(models, pathIn(models, definition))}.d.ts`;
  };
  return (definition) => {
    const ofV1 = definition.replace(/\.v\d\w*\./, '.v1.');
    const found = [definition, ofV1].find((one) => existsSync(fileOf(one)));
    if (found === undefined) return undefined;
    return { ...readKind(fileOf(found), definition.split('.').at(-1)), isOwn: found === definition };
  };
}
