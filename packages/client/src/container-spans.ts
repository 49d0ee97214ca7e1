// Finds where the objects and arrays of a JSON text begin and end. Used by sharing-parser.ts.

/** An object or array within a text. */
export interface ContainerSpan {
  /** Its name in an object, or its index in an array; "" for the outermost. */
  readonly key: string | number;
  /** Start of the member with this container: its name in an object, the container itself in an array. */
  readonly memberStart: number;
  readonly start: number;
  /** Position after its last bracket. */
  readonly end: number;
  readonly children: readonly ContainerSpan[];
  /** Levels of nesting, including itself. */
  readonly height: number;
}

interface OpenContainer {
  readonly key: string | number;
  readonly memberStart: number;
  readonly start: number;
  readonly children: ContainerSpan[];
  readonly isObject: boolean;
  /** Name of the current member. */
  nameStart: number;
  nameEnd: number;
  index: number;
  /** Height of its highest child. */
  height: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const noName = -1;

/**
 * Returns the containers of a text, outermost first; undefined when there is none. The text must be valid JSON: it has been parsed before.
 */
export function containerSpans(text: string): ContainerSpan | undefined {
  const open: OpenContainer[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === openBrace || code === openBracket) open.push(openAt(text, at, open.at(-1)));
    else if (code === closeBrace || code === closeBracket) {
      const span = close(open.pop(), at + 1);
      const parent = open.at(-1);
      if (parent === undefined || span === undefined) return span;
      parent.children.push(span);
      parent.height = Math.max(parent.height, span.height);
    } else if (code === quote) at = passString(text, at, open.at(-1)) - 1;
    else if (code === comma) nextMember(open.at(-1));
  }
  return undefined;
}

/** Returns the position after the string. */
function passString(text: string, start: number, parent: OpenContainer | undefined): number {
  const end = endOfString(text, start);
  if (parent?.isObject && parent.nameStart === noName) {
    parent.nameStart = start;
    parent.nameEnd = end;
  }
  return end;
}

function nextMember(parent: OpenContainer | undefined): void {
  if (parent === undefined) return;
  parent.nameStart = noName;
  parent.index += 1;
}

function openAt(text: string, start: number, parent: OpenContainer | undefined): OpenContainer {
  const isNamed = parent?.isObject ?? false;
  return {
    key: isNamed ? nameOf(text, parent as OpenContainer) : (parent?.index ?? ''),
    memberStart: isNamed ? (parent as OpenContainer).nameStart : start,
    start,
    children: [],
    isObject: text.charCodeAt(start) === openBrace,
    nameStart: noName,
    nameEnd: noName,
    index: 0,
    height: 0,
  };
}

function nameOf(text: string, { nameStart, nameEnd }: OpenContainer): string {
  const name = text.slice(nameStart + 1, nameEnd - 1);
  return name.includes('\\') ? JSON.parse(`"${name}"`) : name;
}

function close(container: OpenContainer | undefined, end: number): ContainerSpan | undefined {
  if (container === undefined) return undefined;
  const { key, memberStart, start, children, height } = container;
  return { key, memberStart, start, end, children, height: height + 1 };
}

/** Returns the position after the closing quote of the string that begins here. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === backslash) start -= 1;
  return (at - start) % 2 === 1;
}
