// Parses types written as texts: `list(map(string, A))`. Declarations of functions and variables use them.
import {
  anyType,
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  opaqueType,
  optionalType,
  stringType,
  structType,
  timestampType,
  typeOfType,
  typeParam,
  typeType,
  uintType,
} from './cel-type.ts';

const named: ReadonlyMap<string, CelType> = new Map([
  ['any', anyType],
  ['bool', boolType],
  ['bytes', bytesType],
  ['double', doubleType],
  ['duration', durationType],
  ['dyn', dynType],
  ['google.protobuf.Any', anyType],
  ['google.protobuf.Duration', durationType],
  ['google.protobuf.Timestamp', timestampType],
  ['int', intType],
  ['null', nullType],
  ['null_type', nullType],
  ['string', stringType],
  ['timestamp', timestampType],
  ['type', typeType],
  ['uint', uintType],
  ['net.IP', opaqueType('net.IP')],
  ['net.CIDR', opaqueType('net.CIDR')],
]);

/** Types rarely nest deeper than a schema does; the limit keeps a hostile text from exhausting the stack. */
const maxDepth = 250;

const parsed = new Map<string, CelType>();
const maxParsed = 1000;

/**
 * Parses a type: `int`, `list(T)`, `map(K, V)`, `optional(T)`, `type(T)`. A single capital letter is a type parameter;
 * every other name is a struct. Throws TypeError for anything else.
 */
export function typeOf(text: string): CelType {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const reader = new TypeReader(text);
  const type = reader.read(0);
  reader.end();
  if (parsed.size >= maxParsed) parsed.clear();
  parsed.set(text, type);
  return type;
}

class TypeReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(depth: number): CelType {
    if (depth > maxDepth) throw new TypeError(`the type nests deeper than ${maxDepth} levels`);
    const name = this.#name();
    if (!this.#takes('(')) return simpleType(name);
    const parameters = [this.read(depth + 1)];
    while (this.#takes(',')) parameters.push(this.read(depth + 1));
    if (!this.#takes(')')) throw this.#unexpected();
    return this.#parameterized(name, parameters);
  }

  end(): void {
    if (this.#at < this.#text.length) throw this.#unexpected();
  }

  #name(): string {
    const match = /^ *([A-Za-z_@][\w.@-]*) */.exec(this.#text.slice(this.#at));
    if (match === null) throw this.#unexpected();
    this.#at += match[0].length;
    return match[1] ?? '';
  }

  #takes(mark: string): boolean {
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    while (this.#text[this.#at] === ' ') this.#at++;
    return true;
  }

  #parameterized(name: string, parameters: readonly CelType[]): CelType {
    const [first = dynType, second = dynType] = parameters;
    const expected = name === 'map' ? 2 : 1;
    if (parameters.length !== expected) throw this.#unexpected();
    if (name === 'list') return listType(first);
    if (name === 'map') return mapType(first, second);
    if (name === 'optional' || name === 'optional_type') return optionalType(first);
    if (name === 'type') return typeOfType(first);
    throw new TypeError(`'${name}' takes no parameters in the type '${this.#text}'`);
  }

  #unexpected(): TypeError {
    return new TypeError(`'${this.#text}' is not a type: unexpected text at character ${this.#at + 1}`);
  }
}

function simpleType(name: string): CelType {
  const known = named.get(name);
  if (known !== undefined) return known;
  if (name === 'list') return listType(dynType);
  if (name === 'map') return mapType(dynType, dynType);
  if (name === 'optional' || name === 'optional_type') return optionalType(dynType);
  return /^[A-Z]$/.test(name) ? typeParam(name) : structType(name);
}
