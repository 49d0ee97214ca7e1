// Shows which package is being compiled and for how long, since a first build takes a minute. It reads the lines of
// `tsc -b --verbose`, and is used by set-up.mjs.

/** Minimum time between two lines where they cannot overwrite each other, in seconds. */
const quietSeconds = 10;

/** Turns the compiler's report into one changing line on a terminal, or a line from time to time elsewhere. */
export class BuildProgress {
  #write;
  #isTty;
  #now;
  #startedAt;
  #toldAt;
  #total = 0;
  #at = 0;
  #what = '';

  /** `write` takes text, `now` returns milliseconds. */
  constructor({ write, isTty, now }) {
    this.#write = write;
    this.#isTty = isTty;
    this.#now = now;
    this.#startedAt = now();
    this.#toldAt = this.#startedAt;
  }

  /** Takes a line of the compiler. Lines that do not report progress, such as errors in sources, are passed on. */
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

  /** Begins the next part of the build. */
  begin(what) {
    this.#what = what;
    this.tick();
  }

  /** Updates the line. Must be called each second. */
  tick() {
    const now = this.#now();
    if (this.#what === '' || (!this.#isTty && now - this.#toldAt < quietSeconds * 1000)) return;
    this.#toldAt = now;
    const count = this.#total === 0 ? '' : `${Math.min(this.#at, this.#total)} of ${this.#total}, `;
    const line = `Build … ${count}${this.#what}, ${Math.round((now - this.#startedAt) / 1000)} s`;
    this.#write(this.#isTty ? `${this.#clear()}${line}` : `${line}\n`);
  }

  /** Clears the line. */
  end() {
    this.#write(this.#clear());
  }

  #clear() {
    return this.#isTty ? '\r\u001b[K' : '';
  }
}
