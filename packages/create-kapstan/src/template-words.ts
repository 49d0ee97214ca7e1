// The words of the template that are replaced by the user's own. The template is a working project, whose words occur nowhere by chance.
// Used by project-files.ts.
import type { ResolvedOptions } from './project-options.ts';

const words = /my-controller|example\.com|Greeting|greeting(?=[A-Z])|greeting/g;

/** Returns the text with the words of the options, in one pass, so that a word that was put in is not replaced again. */
export function withWords(
  text: string,
  { name, group, kind }: Pick<ResolvedOptions, 'name' | 'group' | 'kind'>,
): string {
  const own: Readonly<Record<string, string>> = { 'my-controller': name, 'example.com': group, Greeting: kind };
  return text.replace(words, (word, offset: number) => {
    if (word !== 'greeting') return own[word] ?? word;
    const isIdentifier = /^[A-Z]/.test(text.slice(offset + word.length));
    // kubectl knows a kind by its name in lower case.
    return isIdentifier ? lowerFirst(kind) : kind.toLowerCase();
  });
}

/** Lowers the first letter or abbreviation: "CronTab" → "cronTab", "HTTPRoute" → "httpRoute". */
function lowerFirst(kind: string): string {
  return kind.replace(/^([A-Z]+(?=[A-Z][a-z])|[A-Z]+$|[A-Z])/, (letters) => letters.toLowerCase());
}
