// Warning headers of the server: only code 299 counts. By default each text is logged once.
// Source: client-go rest/warnings.go.
import type { Logger } from '@kapstan/api';

/** Receives the text of each warning, in the order of the headers. */
export type WarningHandler = (text: string) => void;

const maxRemembered = 1000;
const warning = /(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?/g;

/** Returns the texts of all warnings with code 299 in a Warning header (several headers come joined by commas or as a list). */
export function parseWarnings(header: string | readonly string[] | undefined): string[] {
  if (header === undefined) return [];
  const texts: string[] = [];
  for (const value of typeof header === 'string' ? [header] : header) {
    for (const [, code, , text] of value.matchAll(warning)) {
      if (code === '299' && text) texts.push(text.replace(/\\(.)/g, '$1'));
    }
  }
  return texts;
}

/** Logs each text once; remembers at most 1000 texts and forgets the oldest first. */
export function logWarningsOnce(logger: Logger): WarningHandler {
  const seen = new Set<string>();
  return (text) => {
    if (seen.has(text)) return;
    if (seen.size >= maxRemembered) for (const oldest of seen.keys()) if (seen.delete(oldest)) break;
    seen.add(text);
    logger.warn(`Warning: ${text}`);
  };
}
