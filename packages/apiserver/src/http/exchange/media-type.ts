// Parses the media types of the headers Accept and Content-Type as the libraries below kube-apiserver do. Source:
// munnerz/goautoneg, Go's mime.ParseMediaType.

export interface MediaType {
  /** "application" or "*". Lower case. */
  readonly type: string;
  readonly subtype: string;
  readonly parameters: ReadonlyMap<string, string>;
}

export interface AcceptHeader {
  /** The clauses, the most preferred first; equally preferred ones in the given order. */
  readonly media: readonly MediaType[];
  /** The types as they were sent, without parameters. */
  readonly types: readonly string[];
}

/** Characters and clauses of an Accept header that are read. Those after them do not count, because reading all would take a long turn. */
const longestRead = 65_536;
const mostClauses = 4_000;

function clausesOf(header: string): readonly string[] {
  const read = header.slice(0, longestRead);
  const end = read.length < header.length ? read.lastIndexOf(',') : -1;
  return (end < 0 ? read : read.slice(0, end)).split(',', mostClauses);
}

/** Parses what is asked for, when it is asked for. */
class LazyAcceptHeader implements AcceptHeader {
  readonly text: string;
  #media: readonly MediaType[] | undefined;
  #types: readonly string[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get media(): readonly MediaType[] {
    this.#media ??= parseClauses(this.text);
    return this.#media;
  }

  get types(): readonly string[] {
    this.#types ??= clausesOf(this.text).map((clause) => beforeMark(clause, ';').trim());
    return this.#types;
  }
}

/** The headers parsed last. Clients send the same few headers again and again. */
const known = new Map<string, LazyAcceptHeader>();
const mostKnown = 100;
const longestKnown = 500;
/** The last long header, which several steps of its request read. */
let lastLong = new LazyAcceptHeader('');

export function parseAccept(header: string): AcceptHeader {
  if (header.length > longestKnown) {
    if (lastLong.text !== header) lastLong = new LazyAcceptHeader(header);
    return lastLong;
  }
  const parsed = known.get(header) ?? new LazyAcceptHeader(header);
  if (known.size >= mostKnown && !known.has(header)) known.clear();
  known.set(header, parsed);
  return parsed;
}

/** Sorts by groups, because comparing clauses with each other takes longer than reading them. */
function parseClauses(header: string): readonly MediaType[] {
  const groups = new Map<number, MediaType[][]>();
  for (const text of clausesOf(header)) {
    const media = parseMediaType(text);
    if (media === undefined) continue;
    const group = groups.get(media.quality) ?? [[], [], [], []];
    groups.set(media.quality, group);
    group[wildcards(media)]?.push(media);
  }
  const qualities = Float64Array.from(groups.keys()).sort().reverse();
  return [...qualities].flatMap((quality) => groups.get(quality) ?? []).flat();
}

/** Matches a quality without other parameters, the most frequent form. */
const onlyQuality = /^ *q=([0-9.]+) *$/;

/** A media type whose parameters are read when they are asked for, all but its quality. */
class ParsedMediaType implements MediaType {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly #parameterText: string;
  #parameters: ReadonlyMap<string, string> | undefined;

  constructor(type: string, subtype: string, parameterText: string) {
    this.type = type;
    this.subtype = subtype;
    this.#parameterText = parameterText;
    const quality = Number(this.#qualityText());
    this.quality = Number.isNaN(quality) ? 1 : quality;
  }

  #qualityText(): string {
    if (!/q/i.test(this.#parameterText)) return '1';
    return onlyQuality.exec(this.#parameterText)?.[1] ?? this.parameters.get('q') ?? '1';
  }

  get parameters(): ReadonlyMap<string, string> {
    this.#parameters ??= parseParameters(this.#parameterText);
    return this.#parameters;
  }
}

/**
 * Parses one media type with its parameters; undefined when there is none. Names are in lower case, values unchanged.
 */
function parseMediaType(text: string): ParsedMediaType | undefined {
  const full = beforeMark(text, ';');
  const name = full.trim().toLowerCase();
  const type = beforeMark(name, '/');
  if (type === '' || (type === name && type !== '*')) return undefined;
  const subtype = type === name ? '*' : beforeMark(name.slice(type.length + 1), '/');
  return new ParsedMediaType(type, subtype, text.slice(full.length + 1));
}

function beforeMark(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at < 0 ? text : text.slice(0, at);
}

function parseParameters(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const parameter of text.split(';')) {
    const at = parameter.indexOf('=');
    const value = parameter.slice(at + 1).trim();
    // A parameter without a value is skipped.
    if (at < 0 || value === '') continue;
    parameters.set(
      parameter.slice(0, at).trim().toLowerCase(),
      value.startsWith('"') ? value.replace(/^"(.*)"$/, '$1') : value,
    );
  }
  return parameters;
}

/** Returns the type of a header value without its parameters, for example "application/json". */
export function essenceOf(header: string): string {
  return (header.split(';')[0] ?? '').trim().toLowerCase();
}

function wildcards(media: MediaType): number {
  return (media.type === '*' ? 2 : 0) + (media.subtype === '*' ? 1 : 0);
}
