// Estimates the size of a compiled pattern from its text alone, because compiling a long pattern takes seconds. Used to
// decide what is compiled and matched in the turn of a request.

/** Sizes by pattern. Emptied when full, like the patterns themselves. */
const known = new Map<string, number>();
const maxKnown = 1000;

/**
 * Returns about the number of instructions of the pattern's program: as many as it has characters, times the counts of
 * its repetitions. Matching takes at most this many steps for each character of a text. Too large for some patterns,
 * and of no meaning for a text that is not a pattern.
 */
export function patternSize(pattern: string): number {
  const size = known.get(pattern) ?? new SizeReader(pattern).read();
  if (known.size >= maxKnown) known.clear();
  known.set(pattern, size);
  return size;
}

/** A flag that makes the pattern, or a part of it, match upper and lower case alike. */
const foldsCase = /\(\?[a-zA-Z]*i/;
const repetition = /\{(\d{1,4})(?:(,)(\d{0,4}))?\}/y;

/** A class of fewer characters takes as long to compile as one character. */
const shortClass = 64;
const unicodeClass = /\\p/gi;
const range = /-/g;
/** Texts without characters outside of ASCII, written or escaped. */
const isAscii = /^(?!.*\\[xp])[\0-\x7f]*$/is;

const timesIn = (text: string, part: RegExp): number => text.match(part)?.length ?? 0;

class SizeReader {
  readonly #pattern: string;
  readonly #foldsCase: boolean;
  /** Sizes of the groups that are open at this place. */
  readonly #outer: number[] = [];
  /** Size of the present group before its last part, which a repetition after it repeats. */
  #sum = 0;
  #last = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#foldsCase = foldsCase.test(pattern);
  }

  read(): number {
    for (let at = 0; at < this.#pattern.length; ) at = this.#next(at);
    while (this.#outer.length > 0) this.#close();
    return this.#sum + this.#last;
  }

  /** Reads one part; returns the place after it. */
  #next(at: number): number {
    switch (this.#pattern[at]) {
      case '(':
        this.#outer.push(this.#sum + this.#last);
        this.#sum = 1;
        this.#last = 0;
        return at + 1;
      case ')':
        this.#close();
        return at + 1;
      case '\\':
        return this.#escape(at);
      case '[':
        return this.#class(at);
      case '{':
        return this.#repeat(at);
      default:
        return this.#part(1, at + 1);
    }
  }

  #part(size: number, next: number): number {
    this.#sum += this.#last;
    this.#last = size;
    return next;
  }

  #close(): void {
    const inner = this.#sum + this.#last;
    this.#sum = this.#outer.pop() ?? 0;
    this.#last = inner;
  }

  /** A quoted text may have brackets that group nothing. */
  #escape(at: number): number {
    const letter = this.#pattern[at + 1];
    // Classes of Unicode have hundreds of ranges.
    if (letter === 'p' || letter === 'P') return this.#part(this.#foldsCase ? 16 : 8, at + 2);
    if (letter !== 'Q') return this.#part(1, at + 2);
    const end = this.#pattern.indexOf('\\E', at + 2);
    const next = end < 0 ? this.#pattern.length : end;
    this.#part(next - at - 2, next);
    // A repetition after the text repeats its last character alone.
    return this.#part(1, next + 2);
  }

  /** A class is one instruction, but a long one takes its time to compile. */
  #class(at: number): number {
    let end = this.#pattern[at + 1] === '^' ? at + 2 : at + 1;
    if (this.#pattern[end] === ']') end += 1;
    while (end < this.#pattern.length && this.#pattern[end] !== ']') end += this.#pattern[end] === '\\' ? 2 : 1;
    return this.#part(this.#classSize(this.#pattern.slice(at, end)), end + 1);
  }

  #classSize(text: string): number {
    const size = (text.length < shortClass ? 1 : Math.floor(text.length / 4)) + 8 * timesIn(text, unicodeClass);
    if (!this.#foldsCase) return size;
    // Each character of a range outside of ASCII is looked up.
    return 6 * size + (isAscii.test(text) ? 0 : 400 * timesIn(text, range));
  }

  #repeat(at: number): number {
    repetition.lastIndex = at;
    const [whole, least = '', , most = ''] = repetition.exec(this.#pattern) ?? [];
    if (whole === undefined) return this.#part(1, at + 1);
    this.#last *= Math.max(1, Number(least) + 1, Number(most));
    return at + whole.length;
  }
}
