// EncryptionConfiguration: the file of --encryption-provider-config. It is read strictly, because a misspelt field would leave data
// unencrypted. configuration-rules.ts checks it further. No error shows a value, because it may be a key.
import { parseDuration } from '@kapstan/api';
import { LineCounter, parseDocument } from 'yaml';

export interface EncryptionConfiguration {
  readonly resources: readonly ResourceConfiguration[];
}

/** Providers of the listed resources: the first one encrypts, all decrypt. */
interface ResourceConfiguration {
  /** Names such as "secrets", "deployments.apps", "*.apps", "*." (the core group), "*.*". */
  readonly resources: readonly string[];
  readonly providers: readonly ProviderConfiguration[];
}

/** Exactly one member is set once the rules have been checked. */
export interface ProviderConfiguration {
  readonly aesgcm?: KeyRing;
  readonly aescbc?: KeyRing;
  readonly secretbox?: KeyRing;
  readonly identity?: Readonly<Record<never, never>>;
  readonly kms?: KmsConfiguration;
}

/** The first key encrypts, all decrypt. */
export interface KeyRing {
  readonly keys: readonly NamedKey[];
}

export interface NamedKey {
  readonly name: string;
  /** Base64. */
  readonly secret: string;
}

export interface KmsConfiguration {
  /** Default "v1", as in Kubernetes; only "v2" works. */
  readonly apiVersion: string;
  readonly name: string;
  /** Default 1000 in v1; not used in v2. */
  readonly cachesize: number | undefined;
  /** For example "unix:///path". */
  readonly endpoint: string;
  /** Timeout of one call. Default 3000. */
  readonly timeoutMs: number;
}

/** Throws a TypeError that describes the fault and its place; all unknown fields are reported together. */
export function parseEncryptionConfiguration(text: string): EncryptionConfiguration {
  const value = readYaml(text);
  const unknown: string[] = [];
  const fields = new Fields(value, '', unknown);
  const kind = fields.text('kind');
  const apiVersion = fields.text('apiVersion');
  if (kind === '') throw new TypeError("Object 'Kind' is missing");
  if (apiVersion === '') throw new TypeError("Object 'apiVersion' is missing");
  if (!kinds.has(`${apiVersion} ${kind}`)) {
    throw new TypeError(`no kind "${kind}" is registered for version "${apiVersion}"`);
  }
  const resources = fields.list('resources').map((item) => readResource(item));
  fields.end();
  if (unknown.length > 0) throw new TypeError(`strict decoding error: ${unknown.join(', ')}`);
  return { resources };
}

/** The documentation gave the second form by mistake for some time, and Kubernetes still accepts it. */
const kinds: ReadonlySet<string> = new Set([
  'apiserver.config.k8s.io/v1 EncryptionConfiguration',
  'v1 EncryptionConfig',
]);

function readResource(fields: Fields): ResourceConfiguration {
  const resources = fields.texts('resources');
  const providers = fields.list('providers').map(readProvider);
  fields.end();
  return { resources, providers };
}

function readProvider(fields: Fields): ProviderConfiguration {
  const aesgcm = readKeys(fields.child('aesgcm'));
  const aescbc = readKeys(fields.child('aescbc'));
  const secretbox = readKeys(fields.child('secretbox'));
  const identity = fields.child('identity');
  identity?.end();
  const kms = readKms(fields.child('kms'));
  fields.end();
  return {
    ...(aesgcm && { aesgcm }),
    ...(aescbc && { aescbc }),
    ...(secretbox && { secretbox }),
    ...(identity && { identity: {} }),
    ...(kms && { kms }),
  };
}

function readKeys(fields: Fields | undefined): KeyRing | undefined {
  if (fields === undefined) return undefined;
  const keys = fields.list('keys').map((key) => {
    const named = { name: key.text('name'), secret: key.text('secret') };
    key.end();
    return named;
  });
  fields.end();
  return { keys };
}

const defaultTimeoutMs = 3_000;
const defaultCacheSize = 1_000;

function readKms(fields: Fields | undefined): KmsConfiguration | undefined {
  if (fields === undefined) return undefined;
  const apiVersion = fields.text('apiVersion') || 'v1';
  const kms = {
    apiVersion,
    name: fields.text('name'),
    cachesize: fields.integer('cachesize') ?? (apiVersion === 'v1' ? defaultCacheSize : undefined),
    endpoint: fields.text('endpoint'),
    timeoutMs: fields.duration('timeout') ?? defaultTimeoutMs,
  };
  fields.end();
  return kms;
}

/** The members of one object. Each is read once; {@link end} reports those that were not read. */
class Fields {
  readonly #members: ReadonlyMap<string, unknown>;
  readonly #path: string;
  readonly #unknown: string[];
  readonly #read = new Set<string>();

  /** `path` ends in "." or is empty. */
  constructor(value: unknown, path: string, unknown: string[]) {
    if (!(value instanceof Map)) throw new TypeError(`${path.slice(0, -1) || 'the configuration'} must be an object`);
    this.#members = value;
    this.#path = path;
    this.#unknown = unknown;
  }

  text(name: string): string {
    const value = this.#take(name) ?? '';
    if (typeof value !== 'string') throw this.#wrong(name, 'must be a string');
    return value;
  }

  integer(name: string): number | undefined {
    const value = this.#take(name) ?? undefined;
    if (value !== undefined && !Number.isInteger(value)) throw this.#wrong(name, 'must be an integer');
    return value as number | undefined;
  }

  /** Reads a Go duration ("3s") as milliseconds. */
  duration(name: string): number | undefined {
    const value = this.#take(name) ?? undefined;
    if (value === undefined) return undefined;
    const ms = typeof value === 'string' ? parseDuration(value) : undefined;
    if (typeof ms !== 'number') throw this.#wrong(name, 'must be a duration such as 3s');
    return ms;
  }

  texts(name: string): readonly string[] {
    return this.#items(name).map((item, index) => {
      if (typeof item !== 'string') throw this.#wrong(`${name}[${index}]`, 'must be a string');
      return item;
    });
  }

  list(name: string): readonly Fields[] {
    return this.#items(name).map(
      (item, index) => new Fields(item ?? new Map(), `${this.#path}${name}[${index}].`, this.#unknown),
    );
  }

  /** Returns undefined also for null. */
  child(name: string): Fields | undefined {
    const value = this.#take(name) ?? undefined;
    return value === undefined ? undefined : new Fields(value, `${this.#path}${name}.`, this.#unknown);
  }

  end(): void {
    for (const name of this.#members.keys()) {
      if (!this.#read.has(name)) this.#unknown.push(`unknown field "${this.#path}${name}"`);
    }
  }

  #items(name: string): readonly unknown[] {
    const value = this.#take(name) ?? [];
    if (!Array.isArray(value)) throw this.#wrong(name, 'must be a list');
    return value;
  }

  #take(name: string): unknown {
    this.#read.add(name);
    return this.#members.get(name);
  }

  #wrong(name: string, rule: string): TypeError {
    return new TypeError(`${this.#path}${name} ${rule}`);
  }
}

/**
 * Reads YAML, which includes JSON, with objects as maps. The library's messages quote the text, which may hold keys, so errors show only
 * its code and the line.
 */
function readYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { version: '1.1', prettyErrors: false, lineCounter, stringKeys: true });
  const [failure] = document.errors;
  if (failure !== undefined) {
    const what = failure.code.toLowerCase().replaceAll('_', ' ');
    throw new TypeError(`yaml: line ${lineCounter.linePos(failure.pos[0]).line}: ${what}`);
  }
  try {
    return document.toJS({ mapAsMap: true, maxAliasCount: 100 });
  } catch {
    // biome-ignore lint/style/useErrorCause: the cause quotes the alias, which may be a key that was pasted wrongly
    throw new TypeError('yaml: an alias that is unknown, or too many of them');
  }
}
