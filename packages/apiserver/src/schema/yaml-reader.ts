// Reads YAML as a JSON value: YAML 1.1 words for booleans, no types beyond JSON's, limits on aliases and depth.
// json-reader.ts reads JSON. Bodies of clients come through yaml-body.ts, long ones through yaml-thread.ts.

import { ExactNumber } from '@kapstan/api';
import { goQuote, maxJsonDepth, setOwn } from '@kapstan/api/internal';
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { describeFault, goSyntax, unreadableIn } from './yaml-faults.ts';

/**
 * Maximum number of characters and values that aliases may add to a text: as much as a body may have. It stops a
 * "billion laughs" attack.
 */
const maxAliased = 3 * 1024 * 1024;

// Matches errors of the step from YAML to JSON, which do not begin with "yaml: ".
const ofJson = /^(?:json: |unsupported map key)/;

/** The error for a text that is not YAML or exceeds the limits. The message begins with "yaml: " where Go's does. */
export class YamlSyntaxError extends Error {
  /** Recreates the same error when passed to the constructor. */
  readonly reason: string;

  constructor(reason: string, options?: { readonly cause?: unknown }) {
    super(ofJson.test(reason) ? reason : `yaml: ${reason}`, options);
    this.name = 'YamlSyntaxError';
    this.reason = reason;
  }
}

export interface YamlDocument {
  /** Keys of maps are in order, as in the JSON that Go makes from YAML. */
  readonly value: unknown;
  /** Repeated keys as `line 7: key "a" already set in map`, in the order of the text. The last one counts. */
  readonly duplicates: readonly string[];
}

export interface YamlLimits {
  /** Default: no limit. */
  readonly maxTokens?: number;
}

/** The text has more tokens than {@link YamlLimits.maxTokens}. */
export class TooManyTokensError extends Error {}

/**
 * Reads the first document of a text; an empty one is null. Throws {@link YamlSyntaxError} and {@link
 * TooManyTokensError}.
 */
export function readYaml(text: string, limits: YamlLimits = {}): YamlDocument {
  refuseByTokens(text, limits.maxTokens ?? Number.POSITIVE_INFINITY);
  const unreadable = unreadableIn(text);
  if (unreadable !== undefined) throw new YamlSyntaxError(unreadable);
  const lines = new LineCounter();
  const document = parse(text, lines);
  if (document === undefined) return { value: null, duplicates: [] };
  const failure = document.errors[0];
  if (failure !== undefined) {
    throw new YamlSyntaxError(describeFault(failure, text, isSeq(document.contents)), { cause: failure });
  }
  const reader = new NodeReader(document, lines);
  return { value: reader.read(document.contents as Node | null), duplicates: reader.duplicates };
}

function parse(text: string, lines: LineCounter): Document | undefined {
  try {
    const documents = parseAllDocuments(text, {
      version: '1.1',
      uniqueKeys: false,
      merge: true,
      prettyErrors: true,
      lineCounter: lines,
      customTags: (tags) =>
        tags.filter((tag) => typeof tag === 'string' || !foreignTags.has(tag.tag) || isPlainNumber(tag)),
    });
    return 'empty' in documents ? undefined : (documents[0] as Document | undefined);
  } catch (error) {
    if (error instanceof RangeError) throw new YamlSyntaxError('exceeded max depth', { cause: error });
    throw error;
  }
}

const scalarFollows = '\u001f';
const nestingSteps: ReadonlyMap<string, number> = new Map([
  ['[', 1],
  ['{', 1],
  [']', -1],
  ['}', -1],
]);

/** The library builds its tree recursively in one turn, so depth and number are limited on the tokens before that. */
function refuseByTokens(text: string, maxTokens: number): void {
  let flow = 0;
  let inLine = 0;
  let isScalar = false;
  for (const token of tokensOf(text, maxTokens)) {
    if (!isScalar) {
      flow += nestingSteps.get(token) ?? 0;
      if (token === '-' || token === '?') inLine++;
      if (token.endsWith('\n')) inLine = 0;
      if (flow + inLine > maxJsonDepth) throw new YamlSyntaxError('exceeded max depth');
    }
    isScalar = token === scalarFollows;
  }
}

function* tokensOf(text: string, maxTokens: number): Generator<string> {
  let count = 0;
  for (const token of new Lexer().lex(text)) {
    if (++count > maxTokens) throw new TooManyTokensError(`more than ${maxTokens} tokens of YAML; send it as JSON`);
    yield token;
  }
}

const binaryTag = 'tag:yaml.org,2002:binary';

// Tags of base 60 numbers, timestamps and sets, which are strings when Go's reader reads into JSON. Binaries are texts
// there, not buffers.
const foreignTags: ReadonlySet<string> = new Set([
  'tag:yaml.org,2002:timestamp',
  binaryTag,
  'tag:yaml.org,2002:omap',
  'tag:yaml.org,2002:pairs',
  'tag:yaml.org,2002:set',
  'tag:yaml.org,2002:int',
  'tag:yaml.org,2002:float',
]);

function isPlainNumber(tag: { readonly tag: string; readonly format?: string }): boolean {
  return (tag.tag.endsWith(':int') || tag.tag.endsWith(':float')) && tag.format !== 'TIME';
}

/**
 * Finds the node of each alias: the last one before it with its anchor. All in one pass, because the library searches
 * the whole text for each alias.
 */
class AliasTargets {
  readonly #anchored = new Map<string, Node>();
  readonly #targets = new Map<unknown, Node>();

  constructor(contents: Node | null) {
    this.#look(contents);
  }

  of(alias: Alias): Node | undefined {
    return this.#targets.get(alias);
  }

  #look(node: unknown): void {
    if (isAlias(node)) {
      const target = this.#anchored.get(node.source);
      if (target !== undefined) this.#targets.set(node, target);
      return;
    }
    if (isScalar(node) || isMap(node) || isSeq(node)) {
      if (node.anchor !== undefined) this.#anchored.set(node.anchor, node);
    }
    if (isSeq(node)) for (const item of node.items) this.#look(item);
    if (!isMap(node)) return;
    for (const { key, value } of node.items) {
      this.#look(key);
      this.#look(value);
    }
  }
}

/**
 * Limits the share of values read through aliases: nearly all of a small document, a tenth of a huge one. Source:
 * go.yaml.in/yaml/v2 decode.go (allowedAliasRatio).
 */
class AliasBudget {
  #nodes = 0;
  #aliased = 0;
  #aliasedLength = 0;
  readonly #open = new Set<Alias>();

  /** Reads the node of an alias. */
  follow(alias: Alias, read: () => unknown): unknown {
    if (this.#open.has(alias)) throw new YamlSyntaxError(`anchor '${alias.source}' value contains itself`);
    this.#open.add(alias);
    const value = read();
    this.#open.delete(alias);
    return value;
  }

  spend(node: Node | null | undefined): void {
    this.#nodes++;
    if (this.#open.size === 0) return;
    this.#aliased++;
    this.#aliasedLength += 1 + (isScalar(node) && typeof node.source === 'string' ? node.source.length : 0);
    const isMuch = this.#aliased > 100 && this.#nodes > 1000 && this.#aliased / this.#nodes > this.#allowedRatio();
    if (isMuch || this.#aliasedLength > maxAliased) throw new YamlSyntaxError('document contains excessive aliasing');
  }

  #allowedRatio(): number {
    const [low, high] = [400_000, 4_000_000];
    if (this.#nodes <= low) return 0.99;
    return this.#nodes >= high ? 0.1 : 0.99 - (0.89 * (this.#nodes - low)) / (high - low);
  }
}

class NodeReader {
  readonly #aliases: AliasTargets;
  readonly #budget = new AliasBudget();
  readonly #lines: LineCounter;
  readonly duplicates: string[] = [];
  #depth = 0;

  constructor(document: Document, lines: LineCounter) {
    this.#aliases = new AliasTargets(document.contents as Node | null);
    this.#lines = lines;
  }

  read(node: Node | null | undefined): unknown {
    this.#budget.spend(node);
    if (node === null || node === undefined) return null;
    if (isAlias(node)) return this.#alias(node);
    if (isScalar(node)) return scalarValue(node);
    if (++this.#depth > maxJsonDepth) throw new YamlSyntaxError('exceeded max depth');
    const value = isMap(node)
      ? this.#map(node as YAMLMap<Node, Node | null>)
      : isSeq(node)
        ? node.items.map((item) => this.read(item as Node))
        : null;
    this.#depth--;
    return value;
  }

  #alias(alias: Alias): unknown {
    const target = this.#aliases.of(alias);
    if (target === undefined) throw new YamlSyntaxError(`unknown anchor '${alias.source}' referenced`);
    return this.#budget.follow(alias, () => this.read(target));
  }

  #map(map: YAMLMap<Node, Node | null>): Record<string, unknown> {
    const members = new Map<string, unknown>();
    for (const pair of map.items) {
      if (isMergeKey(pair.key)) this.#merge(members, pair.value);
    }
    const own = new Set<string>();
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) continue;
      const name = this.#keyName(key, value);
      if (own.has(name)) this.duplicates.push(`line ${this.#lineOf(key)}: key ${goQuote(name)} already set in map`);
      own.add(name);
      members.set(name, this.read(value));
    }
    return sortedObject(members);
  }

  #merge(members: Map<string, unknown>, value: Node | null): void {
    const sources = isSeq(value) ? [...value.items].reverse() : [value];
    for (const source of sources) {
      const read = this.read(source as Node | null);
      if (typeof read !== 'object' || read === null || Array.isArray(read)) {
        throw new YamlSyntaxError('map merge requires map or sequence of maps as the value');
      }
      for (const [name, member] of Object.entries(read)) members.set(name, member);
    }
  }

  #keyName(key: Node | null, value: Node | null): string {
    const name = this.read(key);
    if (name === null) throw new YamlSyntaxError(this.#noName(key, value));
    if (typeof name !== 'object' || name instanceof ExactNumber) return String(name);
    throw new YamlSyntaxError(`invalid map key: ${goSyntax(name)}`);
  }

  #noName(key: Node | null, value: Node | null): string {
    const line = this.#lineOf(key) - 1;
    const isLeftOut = isScalar(key) && (key.source ?? '') === '';
    if (isLeftOut) return line === 0 ? 'did not find expected key' : `line ${line}: did not find expected key`;
    const shown = value === null ? '<nil>' : goSyntax(this.read(value));
    return `unsupported map key of type: %!s(<nil>), key: <nil>, value: ${shown}`;
  }

  #lineOf(node: Node | null): number {
    return this.#lines.linePos(node?.range?.[0] ?? 0).line;
  }
}

function isMergeKey(key: unknown): boolean {
  return (
    isScalar(key) &&
    (key.value === '<<' || typeof key.value === 'symbol') &&
    key.type !== 'QUOTE_DOUBLE' &&
    key.type !== 'QUOTE_SINGLE'
  );
}

function scalarValue(scalar: Scalar): unknown {
  const { value, source, tag } = scalar;
  if (tag === binaryTag && typeof value === 'string') return decodeBinary(value);
  if (typeof value === 'bigint') return exactNumber(value.toString());
  if (typeof value !== 'number') return value === undefined ? null : value;
  if (!Number.isFinite(value)) return notFinite(value, source ?? '');
  return Number.isSafeInteger(value) || source === undefined ? value : exactNumber(source.replaceAll('_', ''));
}

/** Go reads a number that no double can hold as text. Throws for infinity and NaN, which JSON does not have. */
function notFinite(value: number, source: string): string {
  if (/^[-+]?\.?\d/.test(source)) return source;
  const shown = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  throw new YamlSyntaxError(`json: unsupported value: ${shown}`);
}

/** Returns the text of the bytes as UTF-8, as Go does for JSON. */
function decodeBinary(value: string): string {
  const base64 = value.replaceAll(/[\r\n]/g, '');
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64))
    throw new YamlSyntaxError('!!binary value contains invalid base64 data');
  return Buffer.from(base64, 'base64').toString('utf8');
}

/** Go turns YAML into JSON first, and all numbers but integers into doubles: 1.0 is then the integer 1. */
function exactNumber(text: string): number | ExactNumber {
  const value = Number(text);
  const isInteger = /^-?(?:0|[1-9]\d*)$/.test(text);
  return String(value) === text || !isInteger ? value : new ExactNumber(text);
}

function sortedObject(members: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const name of [...members.keys()].sort()) setOwn(object, name, members.get(name));
  return object;
}
