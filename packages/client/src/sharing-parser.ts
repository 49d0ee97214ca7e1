// Parses objects that are alike, as those of one controller are: a part whose text was seen before is not parsed again, and all that
// have it hold the same value. Used by lister-watchers, whose objects nobody may change (I6); see decision 0016.
import { isJsonObject, parseJson } from '@kapstan/api';
import { type ContainerSpan, containerSpans } from './container-spans.ts';
import { commonParts, cutOut, putBack, type SharedPart, type SpannedText } from './shared-parts.ts';

/** What a text is: an object, or an event of a watch with an object as its member `object`. */
type Form = 'object' | 'event';

interface Sample {
  readonly text: string;
  readonly form: Form;
}

/** Objects that are expected to be alike. */
interface Family {
  /** In the order of the text. Empty: not known yet, or nothing is alike. */
  parts: readonly SharedPart[];
  /** One came already, so others may. */
  isKnown: boolean;
  /** The last text, to be compared with the next. */
  sample: Sample | undefined;
  /** Grows with texts that lack parts; whole ones set it to 0. */
  misses: number;
}

// In characters. Shorter ones are parsed as fast as they are looked through, longer ones would take too much memory.
const minTextLength = 256;
const maxTextLength = 32_768;
const maxFamilies = 500;
const partialMiss = 1;
const poorMiss = 4;
const maxMisses = 16;
// A comparison costs what is saved by sharing parts of four objects. It is paid for in advance, so that objects which are not alike
// take hardly longer than without.
const comparisonCost = 4;
const initialCredit = 64;
const maxCredit = 256;
const creditPerUnshared = 1 / 16;
const generateName = '"generateName":"';
const quote = 0x22;
/** The metadata's first members lie within. */
const beginning = 512;

/**
 * Gives what {@link parseJson} gives, with parts frozen that several objects hold, and throws SyntaxError as it does. Keeps at most
 * 1,000 texts of 32 Ki characters beside what the objects hold.
 */
export class SharingParser {
  /** By a hash of their name: objects that have one in common by chance are not alike, that is all. */
  #families = new Map<number, Family>();
  /** Those of before: forgotten unless an object of theirs comes. */
  #formerFamilies = new Map<number, Family>();
  #credit = initialCredit;

  /** An object, such as an item of a list. */
  readonly parseObject = (text: string): unknown => this.#parse(text, 'object');

  /** A line of a watch. */
  readonly parseEvent = (line: string): unknown => this.#parse(line, 'event');

  #parse(text: string, form: Form): unknown {
    if (text.length < minTextLength || text.length > maxTextLength) return parseJson(text);
    const family = this.#familyOf(text);
    if (family.parts.length === 0) return this.#parseUnshared(family, text, form);
    const value = parseShared(family, text, form);
    if (family.misses >= maxMisses) forget(family);
    if (value === undefined) return parseJson(text);
    this.#credit = Math.min(this.#credit + 1, maxCredit);
    return value;
  }

  #parseUnshared(family: Family, text: string, form: Form): unknown {
    // First, because it throws for what is no JSON.
    const value = parseJson(text);
    const { sample } = family;
    this.#credit = Math.min(this.#credit + creditPerUnshared, maxCredit);
    family.sample = undefined;
    if (this.#credit >= comparisonCost && sample !== undefined) {
      this.#credit -= comparisonCost;
      family.parts = worthwhile(sample, { text, form });
    }
    if (this.#credit >= comparisonCost && family.isKnown && family.parts.length === 0) family.sample = { text, form };
    family.isKnown = true;
    return value;
  }

  #familyOf(text: string): Family {
    const name = familyName(text);
    const known = this.#families.get(name);
    if (known !== undefined) return known;
    const family = this.#formerFamilies.get(name) ?? { parts: [], isKnown: false, sample: undefined, misses: 0 };
    if (this.#families.size === maxFamilies) {
      this.#formerFamilies = this.#families;
      this.#families = new Map();
    }
    this.#families.set(name, family);
    return family;
  }
}

/** A hash of the name that names were generated from, which objects of one controller share. All others are one family. */
function familyName(text: string): number {
  const start = text.slice(0, beginning).indexOf(generateName);
  if (start < 0) return 0;
  let hash = 0;
  for (let at = start + generateName.length; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) break;
    hash = (hash * 31 + code) | 0;
  }
  return hash;
}

/** Undefined: it has none of the parts, not in their places, or it is no JSON. */
function parseShared(family: Family, text: string, form: Form): unknown {
  const { parts } = family;
  const reduced = cutOut(parts, text);
  family.misses = missesAfter(family, text, reduced);
  if (reduced === text) return undefined;
  try {
    const value = parseJson(reduced);
    if (putBack(parts, form === 'event' && isJsonObject(value) ? value.object : value)) return value;
  } catch {
    // The whole text is parsed next: the error is to be about that.
  }
  family.misses += poorMiss;
  return undefined;
}

function missesAfter({ parts, misses }: Family, text: string, reduced: string): number {
  if (parts.every(({ isCut }) => isCut)) return 0;
  return misses + (reduced.length * 4 > text.length * 3 ? poorMiss : partialMiss);
}

function forget(family: Family): void {
  family.parts = [];
  family.misses = 0;
}

/** What the two have in common; nothing when that is less than a quarter of the text. */
function worthwhile(sample: Sample, present: Sample): readonly SharedPart[] {
  const [one, other] = [spanned(sample), spanned(present)];
  if (one === undefined || other === undefined) return [];
  const parts = commonParts(one, other);
  const length = parts.reduce((sum, part) => sum + part.text.length, 0);
  return length * 4 < sample.text.length ? [] : parts;
}

function spanned({ text, form }: Sample): SpannedText | undefined {
  const whole = containerSpans(text);
  const isObject = ({ key }: ContainerSpan): boolean => key === 'object';
  const span = form === 'event' ? whole?.children.find(isObject) : whole;
  return span === undefined ? undefined : { text, span };
}
