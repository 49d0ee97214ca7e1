// WarningRecorder: collects the Warning headers of one answer. Source: apiserver pkg/endpoints/filters/warning.go.

const maxTotalCharacters = 4096;
const maxItemCharacters = 256;

/** Counts equal texts once, and leaves out texts with control characters. When the texts are too long together, each is cut and the last are dropped. */
export class WarningRecorder {
  #texts: Set<string> | undefined;

  add(text: string): void {
    if (text === '' || /\p{Cc}/u.test(text)) return;
    this.#texts ??= new Set();
    this.#texts.add(text);
  }

  /** Returns one header value per warning: `299 - "text"`. */
  headers(): readonly string[] {
    if (this.#texts === undefined) return [];
    const texts = [...this.#texts].map((text) => [...text]);
    const total = texts.reduce((sum, characters) => sum + characters.length, 0);
    if (total <= maxTotalCharacters) return texts.map((characters) => warningHeader(characters.join('')));
    const headers: string[] = [];
    let written = 0;
    for (const characters of texts) {
      if (written >= maxTotalCharacters) break;
      const cut = characters.slice(0, maxItemCharacters);
      written += cut.length;
      headers.push(warningHeader(cut.join('')));
    }
    return headers;
  }
}

/** UTF-8 is sent unchanged. Source: apimachinery net.NewWarningHeader. */
function warningHeader(text: string): string {
  const quoted = text.replace(/["\\]/g, '\\$&');
  return Buffer.from(`299 - "${quoted}"`, 'utf8').toString('latin1');
}
