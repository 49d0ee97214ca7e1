// Which package the compiler is at, and since when: a first build takes a minute. Fed with the lines of `tsc -b --verbose`;
// used by set-up.mjs.

/** Least time between two lines where they cannot be written over each other, in seconds. */
const quietSeconds = 10;

/** Turns the compiler's report into one line that changes (on a terminal), or into a line now and then (elsewhere). */
export class BuildProgress {
  #write;
  #isTty;
  #now;
  #startedAt;
  #toldAt;
  #total = 0;
  #at = 0;
  #what = '';

  /** `write` is given text, `now` gives milliseconds. */
  constructor({ write, isTty, now }) {
    this.#write = write;
    this.#isTty = isTty;
    this.#now = now;
    this.#startedAt = now();
    this.#toldAt = this.#startedAt;
  }

  /** A line of the compiler. What is no report of its progress (an error of the sources) is passed on. */
  line(text) {
    if (/^\s+\* .*tsconfig[^ ]*\.json$/.test(text)) {
      this.#total++;
      return;
    }
    const project = /^\[?[\d:]+(?: [AP]M)?\]? - (.*)$|^\[[^\]]*\] (.*)$/.exec(text);
    if (project === null) {
      if (text.trim() !== '') this.#write(`${this.#clear()}${text}\n`);
      return;
    }
    const [, plain = '', bracketed = ''] = project;
    const report = plain || bracketed;
    const name = /'([^']*?)(?:\/tsconfig[^/']*\.json)'/.exec(report)?.[1];
    if (/^Project '.*is (?:up to date|out of date)/.test(report)) this.#at++;
    if (name !== undefined && /^Building project/.test(report))
      this.begin(name.replace(/^.*\/(?=(?:packages|examples)\/)/, ''));
  }

  /** The next part of the build. */
  begin(what) {
    this.#what = what;
    this.tick();
  }

  /** To be called each second. */
  tick() {
    const now = this.#now();
    if (this.#what === '' || (!this.#isTty && now - this.#toldAt < quietSeconds * 1000)) return;
    this.#toldAt = now;
    const count = this.#total === 0 ? '' : `${Math.min(this.#at, this.#total)} of ${this.#total}, `;
    const line = `Build … ${count}${this.#what}, ${Math.round((now - this.#startedAt) / 1000)} s`;
    this.#write(this.#isTty ? `${this.#clear()}${line}` : `${line}\n`);
  }

  /** Leaves a clean line. */
  end() {
    this.#write(this.#clear());
  }

  #clear() {
    return this.#isTty ? '\r\u001b[K' : '';
  }
}
