// Finds custom resource definitions in YAML and JSON text. Errors name the file, the document in it and the place.
import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** A definition, with its place for errors: "crds.yaml, document 2 (gateways.gateway.networking.k8s.io)". */
export interface SourcedDefinition {
  readonly definition: JsonObject;
  readonly place: string;
}

/**
 * Throws Error for text that is not YAML, and for definitions of an apiVersion that no longer exists. Other objects are left out.
 */
export function definitionsIn(text: string, file: string): readonly SourcedDefinition[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, logLevel: 'silent', uniqueKeys: true });
  const found: SourcedDefinition[] = [];
  for (const [index, document] of [...documents].entries()) {
    const place = `${file}, document ${index + 1}`;
    const value = contentOf(document, { place, lines });
    for (const object of objectsOf(value)) found.push(...definitionOf(object, place));
  }
  return found;
}

/** Documents whose aliases repeat more nodes than this are refused, because few bytes could fill the memory. */
const maxAliasCount = 1000;

function contentOf(
  document: Document,
  { place, lines }: { readonly place: string; readonly lines: LineCounter },
): unknown {
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new Error(`${place}, line ${line}, column ${col}: ${error.message.split('\n')[0]}`, { cause: error });
  }
  try {
    return document.toJS({ maxAliasCount });
  } catch (cause) {
    throw new Error(`${place}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/**
 * A list of any kind counts as its items, as in the output of `kubectl get -o yaml`. Items of a typed list need not name their kind.
 */
function objectsOf(value: unknown): readonly JsonObject[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const object = value as JsonObject;
  const { apiVersion, kind, items } = object;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return [object];
  const typed = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) };
  return items.flatMap((item) => objectsOf(isJsonObject(item) ? { ...typed, ...item } : item));
}

function definitionOf(object: JsonObject, place: string): readonly SourcedDefinition[] {
  const { apiVersion, kind, metadata } = object;
  if (kind !== 'CustomResourceDefinition') return [];
  const name = (metadata as JsonObject | undefined)?.name;
  if (typeof name !== 'string') throw new Error(`${place}: metadata.name: Required value`);
  if (apiVersion !== 'apiextensions.k8s.io/v1')
    throw new Error(
      `${place} (${name}): apiVersion: ${JSON.stringify(apiVersion)} is not served since Kubernetes 1.22; use apiextensions.k8s.io/v1`,
    );
  return [{ definition: object, place: `${place} (${name})` }];
}
