// /flagz: the flags with which the server was started. Part of path-router.ts. Source: apiserver pkg/server/flagz.
import { randomDelimiter, type StructuredPage, textHead } from './structured-page.ts';

export interface FlagzOptions {
  /** Values by name, without secrets. */
  readonly flags: ReadonlyMap<string, string>;
  readonly random: () => number;
}

export function flagzPage({ flags, random }: FlagzOptions): StructuredPage {
  const sorted = [...flags].sort(([one], [other]) => (one < other ? -1 : 1));
  let text: string | undefined;
  return {
    name: 'flagz',
    kind: 'Flagz',
    // The text is made once, so its delimiter does not change.
    text: () => {
      const delimiter = randomDelimiter(random);
      text ??= `${textHead('flagz')}${sorted.map(([name, value]) => `${name}${delimiter}${value}\n`).join('')}`;
      return text;
    },
    members: () => ({ flags: Object.fromEntries(sorted) }),
  };
}
