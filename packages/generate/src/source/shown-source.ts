/** Returns a source as files and errors may show it: of a URL the origin and the path, because its user, password and query may be secret. */
export function shownSource(source: string): string {
  if (!/^https?:\/\//i.test(source)) return source;
  if (!URL.canParse(source)) return 'the URL';
  const { origin, pathname } = new URL(source);
  return `${origin}${pathname}`;
}
