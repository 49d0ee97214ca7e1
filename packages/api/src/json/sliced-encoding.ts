// JSON of values of any size, in slices: as text, and as UTF-8.

import { fitsOneSlice, membersPerSlice, namesInSlices, type SlicedWork } from '../time/sliced-work.ts';
import { isJsonObject, isLeaf, itemsPerSlice, stringifyJson } from './json.ts';
import { Utf8Parts } from './utf8-parts.ts';

/** Takes the next part of the JSON. Parts never divide a character. */
type Write = (part: string) => void;

/** Does what {@link stringifyJson} does, for a value of any size. */
export function* stringifyInSlices(value: unknown): SlicedWork<string> {
  if (fitsOneSlice(value)) return stringifyJson(value);
  const parts: string[] = [];
  yield* writeLarge(value, (part) => parts.push(part), compact);
  return parts.join('');
}

const encoder = new TextEncoder();

export interface EncodeOptions {
  /** Text behind the JSON. Default: none. */
  readonly after?: string;
  /** Maximum number of bytes of a value that does not fit one slice. Default: no limit. */
  readonly maxBytes?: number;
  /** The spaces before the last line of a value on several lines, in which each level has two more. Default: one line. */
  readonly pad?: string | undefined;
}

/**
 * Returns what {@link stringifyInSlices} returns, as UTF-8. The text is encoded part by part: a text of megabytes takes 25 ms to encode in
 * one call. Throws {@link JsonLimitError} for more bytes than allowed.
 */
export function* encodeJsonInSlices(value: unknown, options: EncodeOptions = {}): SlicedWork<Uint8Array<ArrayBuffer>> {
  const { after = '', maxBytes, pad } = options;
  const layout = pad === undefined ? compact : indented(pad);
  if (fitsOneSlice(value)) return encoder.encode(`${layout.text(value)}${after}`);
  const bytes = new Utf8Parts(maxBytes);
  yield* writeLarge(value, (part) => bytes.add(part), layout);
  bytes.add(after);
  return bytes.joined();
}

/** Members that are small objects or lists between two yields: each may have as many nodes as a slice. */
const smallPerSlice = 16;

/** How the parts of one level are written. `pad`: the spaces before the last line of the level. */
interface Layout {
  /** Text before each member or item, and before the end of the level. */
  readonly before: string;
  readonly end: string;
  readonly colon: string;
  /** The layout of the values at this level. */
  readonly below: Layout;
  /** Returns the JSON of a small value at this level. */
  text(value: unknown): string;
  /** Returns the JSON of items at this level without the brackets. */
  items(run: readonly unknown[]): string;
}

const compact: Layout = {
  before: '',
  end: '',
  colon: ':',
  get below(): Layout {
    return compact;
  },
  text: (value) => stringifyJson(value),
  items: (run) => stringifyJson(run).slice(1, -1),
};

function indented(pad: string): Layout {
  const inPlace = (text: string): string => text.replaceAll('\n', `\n${pad}`);
  return {
    before: `\n${pad}  `,
    end: `\n${pad}`,
    colon: ': ',
    get below(): Layout {
      return indented(`${pad}  `);
    },
    text: (value) => inPlace(stringifyJson(value, 2)),
    items: (run) => inPlace(stringifyJson(run, 2).slice(1, -2)),
  };
}

function* writeLarge(value: unknown, write: Write, layout: Layout): SlicedWork<void> {
  if (!fitsOneSlice(value)) {
    // Each level is a step of its own: deciding how to write a level looks at some hundred nodes, even if it has few members.
    yield;
    if (Array.isArray(value)) return yield* writeItems(value, write, layout);
    if (isJsonObject(value)) return yield* writeMembers(value, write, layout);
  }
  write(layout.text(value));
}

function* writeItems(list: readonly unknown[], write: Write, layout: Layout): SlicedWork<void> {
  let separator = '';
  let run: unknown[] = [];
  const writeRun = (): void => {
    if (run.length === 0) return;
    write(`${separator}${layout.items(run)}`);
    separator = ',';
    run = [];
  };
  write('[');
  for (const item of list) {
    if (isLeaf(item) || fitsOneSlice(item)) run.push(item);
    else {
      writeRun();
      write(`${separator}${layout.before}`);
      separator = ',';
      yield* writeLarge(item, write, layout.below);
    }
    if (run.length < itemsPerSlice) continue;
    writeRun();
    yield;
  }
  writeRun();
  write(`${layout.end}]`);
}

function* writeMembers(object: Record<string, unknown>, write: Write, layout: Layout): SlicedWork<void> {
  const { below } = layout;
  let separator = '';
  let weight = 0;
  write('{');
  for (const key of yield* namesInSlices(object)) {
    const member = object[key];
    if (member !== undefined) {
      const name = `${separator}${layout.before}${JSON.stringify(key)}${layout.colon}`;
      separator = ',';
      if (isLeaf(member)) write(name + JSON.stringify(member));
      else {
        write(name);
        yield* writeLarge(member, write, below);
      }
    }
    weight += isLeaf(member) ? 1 : membersPerSlice / smallPerSlice;
    if (weight < membersPerSlice) continue;
    weight = 0;
    yield;
  }
  write(`${layout.end}}`);
}
